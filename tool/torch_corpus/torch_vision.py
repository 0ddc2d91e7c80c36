"""torchvision and timm: the small members of each family, other sizes than usual."""

import timm
import torch
from torch import nn
from torchvision import models as M
from torch_case import case, image

B = [{0: "batch"}]


def imgs(h, w, c=3, n=2, alt=3):
    return (image(n, c, h, w),), (image(alt, c, h, w),), (image(1, c, h, w),)


def vision(name, make, h=64, w=64, cost=2, **o):
    @case("tv_" + name, **{"dynamic": B, "cost": cost, **o})
    def f():
        return (make(), *imgs(h, w))


def small_vgg():
    m = M.vgg11(num_classes=10)
    m.classifier = nn.Sequential(nn.Linear(512 * 49, 32), nn.ReLU(True), nn.Dropout(), nn.Linear(32, 10))
    return m


def small_vgg_bn():
    m = M.vgg11_bn(num_classes=10)
    m.classifier = nn.Sequential(nn.Linear(512 * 49, 32), nn.ReLU(True), nn.Dropout(), nn.Linear(32, 10))
    return m


def small_alexnet():
    m = M.alexnet(num_classes=10)
    m.classifier = nn.Sequential(nn.Dropout(), nn.Linear(256 * 36, 64), nn.ReLU(inplace=True), nn.Linear(64, 10))
    return m


k = dict(num_classes=10)
vision("resnet18", lambda: M.resnet18(**k), 64, 80)
vision("resnet50", lambda: M.resnet50(**k), cost=5)
vision("resnext", lambda: M.ResNet(M.resnet.Bottleneck, [1, 2, 1, 1], groups=32, width_per_group=4, **k))
vision("wide_resnet", lambda: M.ResNet(M.resnet.Bottleneck, [1, 1, 1, 1], width_per_group=128, **k))
vision("densenet", lambda: M.DenseNet(16, (3, 4, 4, 3), 32, **k), 64, 72, cost=3)
vision("densenet121", lambda: M.densenet121(**k), cost=8)
vision("googlenet", lambda: M.googlenet(weights=None, init_weights=False, aux_logits=False, **k), 64, 96, cost=4)
vision(
    "googlenet_aux",
    lambda: M.googlenet(weights=None, init_weights=False, aux_logits=True, transform_input=True, **k),
    64,
    64,
    cost=4,
)
vision("inception_v3", lambda: M.inception_v3(weights=None, init_weights=False, **k), 96, 107, cost=6)
vision("mnasnet", lambda: M.mnasnet0_5(**k), cost=3)
vision("mobilenet_v2", lambda: M.mobilenet_v2(width_mult=0.5, **k), cost=3)
vision("mobilenet_v3_small", lambda: M.mobilenet_v3_small(**k), 64, 72, cost=3)
vision("mobilenet_v3_large", lambda: M.mobilenet_v3_large(**k), cost=4)
vision("efficientnet_b0", lambda: M.efficientnet_b0(**k), cost=6)
vision("efficientnet_v2_s", lambda: M.efficientnet_v2_s(**k), cost=9)
vision("regnet_y_400mf", lambda: M.regnet_y_400mf(**k), cost=5)
vision("regnet_x_400mf", lambda: M.regnet_x_400mf(**k), cost=5)
vision(
    "convnext",
    lambda: M.ConvNeXt(
        [
            M.convnext.CNBlockConfig(24, 48, 2),
            M.convnext.CNBlockConfig(48, 96, 2),
            M.convnext.CNBlockConfig(96, None, 2),
        ],
        **k
    ),
    cost=3,
)
vision("convnext_tiny", lambda: M.convnext_tiny(**k), cost=5)
vision("swin", lambda: M.SwinTransformer([4, 4], 24, [2, 2, 2], [2, 4, 8], [7, 7], **k), 70, 64, cost=5)
vision("swin_t", lambda: M.swin_t(**k), cost=8)
vision("swin_v2_t", lambda: M.swin_v2_t(**k), cost=9)
vision("vit_small", lambda: M.VisionTransformer(48, 16, 2, 3, 48, 96, num_classes=10), 48, 48, cost=2)
vision("vit_b_16", lambda: M.vit_b_16(image_size=64, **k), 64, 64, cost=6)
vision("maxvit_t", lambda: M.MaxVit((64, 64), 16, 4, [16, 32], [1, 1], 8, 0.0, num_classes=10), cost=4)
vision("vgg11", small_vgg, cost=3)
vision("vgg11_bn", small_vgg_bn, cost=3)
vision("alexnet", small_alexnet, 80, 72)
vision("squeezenet1_0", lambda: M.squeezenet1_0(**k), 70, 64)
vision("squeezenet1_1", lambda: M.squeezenet1_1(**k), 64, 64)
vision("shufflenet_x0_5", lambda: M.shufflenet_v2_x0_5(**k), cost=3)
vision("shufflenet_x1_5", lambda: M.shufflenet_v2_x1_5(**k), cost=3)
vision("resnet18_hw", lambda: M.resnet18(**k), 65, 83, dynamic=[{0: "batch", 2: "height", 3: "width"}])


# segmentation: a dict of outputs
S = M.segmentation
vision("fcn_resnet", lambda: S.fcn_resnet50(weights_backbone=None, num_classes=3, aux_loss=True), 40, 48, cost=6)
vision(
    "deeplabv3_mobilenet", lambda: S.deeplabv3_mobilenet_v3_large(weights_backbone=None, num_classes=3), 48, 64, cost=6
)
vision("lraspp", lambda: S.lraspp_mobilenet_v3_large(weights_backbone=None, num_classes=3), 48, 64, cost=5)


# video, flow
@case("tv_r3d_18", dynamic=B, cost=5)
def _():
    m = M.video.VideoResNet(
        M.video.resnet.BasicBlock,
        [M.video.resnet.Conv3DSimple] * 4,
        [1, 1, 1, 1],
        M.video.resnet.BasicStem,
        num_classes=10,
    )
    return m, (image(2, 3, 6, 32, 36),), (image(3, 3, 6, 32, 36),), (image(1, 3, 6, 32, 36),)


@case("tv_r2plus1d", dynamic=B, cost=5)
def _():
    m = M.video.VideoResNet(
        M.video.resnet.BasicBlock,
        [M.video.resnet.Conv2Plus1D] * 4,
        [1, 1, 1, 1],
        M.video.resnet.R2Plus1dStem,
        num_classes=10,
    )
    return m, (image(2, 3, 4, 32, 36),), (image(3, 3, 4, 32, 36),), (image(1, 3, 4, 32, 36),)


@case("tv_mvit", dynamic=B, cost=5)
def _():
    C = M.video.mvit.MSBlockConfig
    cfg = [C(1, 16, 16, [], [3, 3, 3], [], [1, 4, 4]), C(1, 16, 32, [3, 3, 3], [3, 3, 3], [1, 2, 2], [1, 1, 1])]
    m = M.video.MViT((32, 32), 4, cfg, True, True, True, True, num_classes=10)
    return m, (image(2, 3, 4, 32, 32),), (image(3, 3, 4, 32, 32),), (image(1, 3, 4, 32, 32),)


@case("tv_raft_small", cost=9)
def _():
    class Wrap(nn.Module):
        def __init__(s):
            super().__init__()
            s.m = M.optical_flow.raft_small(weights=None)

        def forward(s, a, b):
            return s.m(a, b, num_flow_updates=2)[-1]

    return Wrap(), (image(1, 3, 128, 128).clamp(-1, 1), image(1, 3, 128, 128, seed=1).clamp(-1, 1))


# detection
D = M.detection


class Detect(nn.Module):
    """One image as a tensor in, the dict of its detections out."""

    def __init__(s, m):
        super().__init__()
        s.m = m

    def forward(s, x):
        if torch.jit.is_scripting():
            _, d = s.m([x])
            return d[0]
        else:
            return s.m([x])[0]


def detector(name, make, h=96, w=96, cost=9):
    @case("det_" + name, cost=cost, flat=True)
    def f():
        return Detect(make()), (image(3, h, w).abs().clamp(0, 1),)


@case("det_raw_list", forms=("scripted",), cost=9, flat=True, note="a list of images in, (losses, detections) out")
def _():
    m = D.retinanet_resnet50_fpn(**kw(min_size=64, max_size=96, detections_per_img=10, topk_candidates=30))
    return m, ([image(3, 64, 80).abs().clamp(0, 1), image(3, 72, 64).abs().clamp(0, 1)],)


def kw(**o):
    return dict(weights=None, weights_backbone=None, num_classes=5, **o)


def ssdlite():
    m = D.ssdlite320_mobilenet_v3_large(**kw(detections_per_img=20, topk_candidates=50, score_thresh=0.2))
    for p in m.head.classification_head.parameters():  # else all scores are nearly equal, and their order is chance
        p.data.mul_(20)
    return m


detector("ssdlite", ssdlite)
detector("ssd300", lambda: D.ssd300_vgg16(**kw(detections_per_img=20, topk_candidates=50, score_thresh=0.2)))
detector(
    "fasterrcnn",
    lambda: D.fasterrcnn_mobilenet_v3_large_320_fpn(
        **kw(
            min_size=96, max_size=128, box_detections_per_img=20, rpn_pre_nms_top_n_test=60, rpn_post_nms_top_n_test=30
        )
    ),
)
detector(
    "retinanet",
    lambda: D.retinanet_resnet50_fpn(**kw(min_size=96, max_size=128, detections_per_img=20, topk_candidates=50)),
)
detector(
    "fcos", lambda: D.fcos_resnet50_fpn(**kw(min_size=96, max_size=128, detections_per_img=20, topk_candidates=50))
)
detector(
    "maskrcnn",
    lambda: D.maskrcnn_resnet50_fpn(
        **kw(min_size=96, max_size=128, box_detections_per_img=8, rpn_pre_nms_top_n_test=60, rpn_post_nms_top_n_test=20)
    ),
)
detector(
    "keypointrcnn",
    lambda: D.keypointrcnn_resnet50_fpn(
        **{
            **kw(
                min_size=96,
                max_size=128,
                box_detections_per_img=6,
                rpn_pre_nms_top_n_test=60,
                rpn_post_nms_top_n_test=20,
            ),
            "num_classes": 2,
            "num_keypoints": 5,
        }
    ),
)


# timm: the small members of its families. "name@size" is a model for pictures of one size, "name=size" one
# that is told it, "name" one that takes any.
TIMM = """
test_vit@160 test_vit2@64 test_vit3@160 test_resnet test_efficientnet test_efficientnet_ln test_convnext test_convnext2
test_nfnet test_byobnet test_mambaout resnet10t resnet14t seresnet18 skresnet18 resnetv2_50 ecaresnet26t botnet26t_256@256
halonet26t@256 lambda_resnet26t@256 dla46_c dla34 ghostnet_050 ghostnetv2_100 rexnet_100 repvgg_a0 hrnet_w18_small
mobileone_s0 tinynet_e lcnet_035 mnasnet_small mobilenetv3_small_050 mobilenetv4_conv_small efficientnet_lite0 mixnet_s
hardcorenas_a fbnetc_100 spnasnet_100 regnetx_002 regnety_002 regnetz_005 selecsls42 semnasnet_050 vovnet39a
ese_vovnet19b_dw cspresnet50 cspdarknet53 darknet17 dpn48b nf_regnet_b0 dm_nfnet_f0 eca_nfnet_l0 poolformer_s12
poolformerv2_s12 pvt_v2_b0 levit_128s@224 mobilevit_xxs mobilevitv2_050 edgenext_xx_small efficientformer_l1@224
efficientformerv2_s0@224 fastvit_t8 repvit_m0_9 convnextv2_atto convnext_atto inception_next_atto starnet_s1
focalnet_tiny_srf efficientvit_b0 efficientvit_m0@224 gcvit_xxtiny@224 visformer_tiny@224 convmixer_768_32 hgnet_tiny
hgnetv2_b0 inception_v4@96 xception41 mambaout_femto res2net50_26w_4s resnest14d tresnet_m coatnet_nano_rw_224@224
maxvit_nano_rw_256@256 crossvit_tiny_240@240 twins_svt_small@224 sequencer2d_s davit_tiny nextvit_small
vit_tiny_patch16_224=64 deit_tiny_patch16_224=64 deit_tiny_distilled_patch16_224=64 deit3_small_patch16_224=64
beit_base_patch16_224=64 beitv2_base_patch16_224=64 eva02_tiny_patch14_224=56 mixer_s32_224=64 resmlp_12_224=64
gmlp_ti16_224=64 convit_tiny=64 cait_xxs24_224=64 xcit_nano_12_p16_224=64 volo_d1_224@224 tnt_s_legacy_patch16_224@224
swin_tiny_patch4_window7_224=64 swinv2_cr_tiny_224=64 tiny_vit_5m_224@224 coat_lite_tiny@224 pit_ti_224@224
vit_small_patch16_rope_224=64 mvitv2_tiny@224 vit_relpos_small_patch16_224=64 vit_srelpos_small_patch16_224=64
hiera_tiny_224@224 flexivit_small=64 vit_base_patch16_siglip_224=64 samvit_base_patch16=64 vit_tiny_r_s16_p8_224=64 nest_tiny@224
"""
SHORT = ("beit", "siglip", "samvit", "deit3", "relpos", "cait", "rope", "flexivit")  # two blocks of theirs will do


def timm_case(text):
    name, told, size = text.partition("=") if "=" in text else text.partition("@")
    size = int(size or 64)
    options = {"img_size": size} if told == "=" else {}
    if any(s in name for s in SHORT):
        options["depth"] = 2
    if name.startswith("samvit"):
        options["global_attn_indexes"] = (1,)

    @case("timm_" + name, dynamic=B, cost=8 if size > 200 else 4)
    def f():
        return (timm.create_model(name, num_classes=10, **options), *imgs(size, size))


for text in TIMM.split():
    timm_case(text)
