#!/usr/bin/env python3
"""sklearn-peer.py: models of scikit-learn, xgboost and lightgbm, run by onx beside ONNX Runtime.

Trains estimators of all kinds on the digits, iris and diabetes data that come with scikit-learn,
converts them with skl2onnx and onnxmltools, and runs each model with onx and with ONNX Runtime on
rows it has not seen. Labels must be equal, numbers close: to those of ONNX Runtime, or, where the
two differ, at least to those of the library itself.

    tool/sklearn-peer.py [--onx build/onx] [--filter REGEX] [--keep DIR] [--rows 60]

Needs Python with numpy, onnx, onnxruntime, scikit-learn, skl2onnx; xgboost, lightgbm and onnxmltools
where they are there. Prints a table and counts; exit status 1 if a model fails or differs.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from skl2onnx import to_onnx, update_registered_converter
from skl2onnx.common.data_types import DictionaryType, FloatTensorType, Int64TensorType, StringTensorType

import sklearn
from sklearn import (calibration, cluster, compose, cross_decomposition, datasets, decomposition, discriminant_analysis,
                     dummy, ensemble, feature_extraction, feature_selection, gaussian_process, impute,
                     linear_model, mixture, model_selection, multiclass,
                     multioutput, naive_bayes, neighbors, neural_network, pipeline, preprocessing,
                     random_projection, svm, tree)
from sklearn.gaussian_process import kernels

warnings.filterwarnings("ignore")

try:
    import xgboost
    from onnxmltools.convert.xgboost.operator_converters.XGBoost import convert_xgboost
except ImportError:
    xgboost = None
try:
    import lightgbm
    from onnxmltools.convert.lightgbm.operator_converters.LightGbm import convert_lightgbm
except ImportError:
    lightgbm = None

# ── Data ─────────────────────────────────────────────────────────────────────────────────────────

WORDS = "the quick brown fox jumps over a lazy dog while small cats sleep under old trees".split()


def tables():
    """name: (rows, answers) in float32."""
    iris, diabetes, digits = datasets.load_iris(), datasets.load_diabetes(), datasets.load_digits()
    two = iris.target != 0
    f = np.float32
    return {
        "three": (iris.data.astype(f), iris.target),
        "names": (iris.data.astype(f), iris.target_names[iris.target]),
        "two": (iris.data[two].astype(f), iris.target[two] - 1),
        "digits": (digits.data[:400, ::3].astype(f) / 16, digits.target[:400]),
        "number": (diabetes.data.astype(f), (diabetes.target / 100).astype(f)),
        "counts": (digits.data[:300, ::4].astype(f), digits.target[:300]),
        "numbers": (diabetes.data.astype(f), np.stack([diabetes.target, diabetes.target**2], 1).astype(f) / 1e4),
    }


def with_holes(x, seed=0):
    x = x.copy()
    x[np.random.default_rng(seed).random(x.shape) < 0.1] = np.nan
    return x


def texts(n, seed=0):
    r = np.random.default_rng(seed)
    return np.array([" ".join(r.choice(WORDS, size=r.integers(3, 12))) for _ in range(n)]).reshape(-1, 1)


def words(n, columns=2, seed=0):
    return np.random.default_rng(seed).choice(WORDS[:5], size=(n, columns)).astype(object)


# ── Models ───────────────────────────────────────────────────────────────────────────────────────

CASES = []


def case(name, table, estimator, **options):
    """`options`: zipmap; x: rows instead of the table's; text, dicts: what they are."""
    CASES.append((name, table, estimator, options))


def classifiers():
    lm, en = linear_model, ensemble
    for name, e in {
        "LogisticRegression": lm.LogisticRegression(max_iter=300),
        "LogisticRegressionCV": lm.LogisticRegressionCV(cv=3, max_iter=200),
        "SGDClassifier": lm.SGDClassifier(random_state=0),
        "SGDClassifier log_loss": lm.SGDClassifier(loss="log_loss", random_state=0),
        "RidgeClassifier": lm.RidgeClassifier(),
        "RidgeClassifierCV": lm.RidgeClassifierCV(),
        "Perceptron": lm.Perceptron(),
        "PassiveAggressiveClassifier": lm.PassiveAggressiveClassifier(random_state=0),
        "LinearSVC": svm.LinearSVC(),
        "SVC": svm.SVC(random_state=0),
        "SVC probability": svm.SVC(probability=True, random_state=0),
        "SVC linear": svm.SVC(kernel="linear", probability=True, random_state=0),
        "SVC poly": svm.SVC(kernel="poly", degree=3, random_state=0),
        "SVC sigmoid": svm.SVC(kernel="sigmoid", random_state=0),
        "NuSVC": svm.NuSVC(nu=0.3, probability=True, random_state=0),
        "GaussianNB": naive_bayes.GaussianNB(),
        "BernoulliNB": naive_bayes.BernoulliNB(binarize=2.0),
        "KNeighborsClassifier": neighbors.KNeighborsClassifier(),
        "RadiusNeighborsClassifier": neighbors.RadiusNeighborsClassifier(radius=20.0),
        "DecisionTreeClassifier": tree.DecisionTreeClassifier(max_depth=5, random_state=0),
        "ExtraTreeClassifier": tree.ExtraTreeClassifier(random_state=0),
        "RandomForestClassifier": en.RandomForestClassifier(20, random_state=0),
        "ExtraTreesClassifier": en.ExtraTreesClassifier(20, random_state=0),
        "GradientBoostingClassifier": en.GradientBoostingClassifier(n_estimators=10, random_state=0),
        "HistGradientBoostingClassifier": en.HistGradientBoostingClassifier(max_iter=10),
        "AdaBoostClassifier": en.AdaBoostClassifier(n_estimators=10, random_state=0),
        "BaggingClassifier": en.BaggingClassifier(n_estimators=5, random_state=0),
        "VotingClassifier soft": en.VotingClassifier(
            [("a", lm.LogisticRegression()), ("b", tree.DecisionTreeClassifier(max_depth=3))], voting="soft", flatten_transform=False),
        "VotingClassifier hard": en.VotingClassifier(
            [("a", lm.LogisticRegression()), ("b", naive_bayes.GaussianNB())], voting="hard", flatten_transform=False),
        "StackingClassifier": en.StackingClassifier(
            [("a", lm.LogisticRegression()), ("b", tree.DecisionTreeClassifier(max_depth=3, random_state=0))]),
        "MLPClassifier": neural_network.MLPClassifier(hidden_layer_sizes=(8,), max_iter=200, random_state=0),
        "LinearDiscriminantAnalysis": discriminant_analysis.LinearDiscriminantAnalysis(),
        "QuadraticDiscriminantAnalysis": discriminant_analysis.QuadraticDiscriminantAnalysis(),
        "GaussianProcessClassifier": gaussian_process.GaussianProcessClassifier(),
        "OneVsRestClassifier": multiclass.OneVsRestClassifier(lm.LogisticRegression()),
        "OneVsOneClassifier": multiclass.OneVsOneClassifier(lm.LogisticRegression()),
        "OutputCodeClassifier": multiclass.OutputCodeClassifier(lm.LogisticRegression(), random_state=0),
        "CalibratedClassifierCV": calibration.CalibratedClassifierCV(
            tree.DecisionTreeClassifier(max_depth=3, random_state=0), cv=2),
        "DummyClassifier": dummy.DummyClassifier(),
        "GridSearchCV": model_selection.GridSearchCV(lm.LogisticRegression(), {"C": [0.1, 1.0]}),
    }.items():
        two = name not in ("GaussianProcessClassifier",)
        case(name, "three" if two else "two", e)
        if name in ("LogisticRegression", "SVC", "SVC probability", "LinearSVC", "DecisionTreeClassifier",
                    "RandomForestClassifier", "GradientBoostingClassifier", "SGDClassifier log_loss",
                    "HistGradientBoostingClassifier", "AdaBoostClassifier", "KNeighborsClassifier"):
            case(name + ", two", "two", sklearn.base.clone(e))
            case(name + ", names", "names", sklearn.base.clone(e), zipmap=True)
            case(name + ", ten", "digits", sklearn.base.clone(e), zipmap="columns" if "SVC" not in name else True)
    for name, e in {
        "MultinomialNB": naive_bayes.MultinomialNB(),
        "ComplementNB": naive_bayes.ComplementNB(),
    }.items():
        case(name, "counts", e)


def regressors():
    lm, en = linear_model, ensemble
    for name, e in {
        "LinearRegression": lm.LinearRegression(),
        "Ridge": lm.Ridge(),
        "Lasso": lm.Lasso(0.01),
        "ElasticNet": lm.ElasticNet(0.01),
        "Lars": lm.Lars(),
        "LassoLars": lm.LassoLars(0.01),
        "BayesianRidge": lm.BayesianRidge(),
        "ARDRegression": lm.ARDRegression(),
        "HuberRegressor": lm.HuberRegressor(),
        "TheilSenRegressor": lm.TheilSenRegressor(random_state=0),
        "RANSACRegressor": lm.RANSACRegressor(random_state=0),
        "PoissonRegressor": lm.PoissonRegressor(),
        "GammaRegressor": lm.GammaRegressor(),
        "TweedieRegressor": lm.TweedieRegressor(power=1.5),
        "QuantileRegressor": lm.QuantileRegressor(alpha=0.01),
        "SGDRegressor": lm.SGDRegressor(random_state=0),
        "OrthogonalMatchingPursuit": lm.OrthogonalMatchingPursuit(),
        "SVR": svm.SVR(),
        "SVR poly": svm.SVR(kernel="poly"),
        "NuSVR": svm.NuSVR(),
        "LinearSVR": svm.LinearSVR(random_state=0),
        "KNeighborsRegressor": neighbors.KNeighborsRegressor(),
        "RadiusNeighborsRegressor": neighbors.RadiusNeighborsRegressor(radius=1.0),
        "DecisionTreeRegressor": tree.DecisionTreeRegressor(max_depth=6, random_state=0),
        "ExtraTreeRegressor": tree.ExtraTreeRegressor(random_state=0),
        "RandomForestRegressor": en.RandomForestRegressor(20, random_state=0),
        "ExtraTreesRegressor": en.ExtraTreesRegressor(20, random_state=0),
        "GradientBoostingRegressor": en.GradientBoostingRegressor(n_estimators=20, random_state=0),
        "HistGradientBoostingRegressor": en.HistGradientBoostingRegressor(max_iter=20),
        "AdaBoostRegressor": en.AdaBoostRegressor(n_estimators=5, random_state=0),
        "BaggingRegressor": en.BaggingRegressor(n_estimators=5, random_state=0),
        "VotingRegressor": en.VotingRegressor([("a", lm.LinearRegression()), ("b", tree.DecisionTreeRegressor(max_depth=3))]),
        "StackingRegressor": en.StackingRegressor([("a", lm.LinearRegression()), ("b", svm.SVR())]),
        "MLPRegressor": neural_network.MLPRegressor(hidden_layer_sizes=(8,), max_iter=300, random_state=0),
        "GaussianProcessRegressor": gaussian_process.GaussianProcessRegressor(kernels.RBF(0.1), alpha=0.1),
        "GaussianProcessRegressor sum": gaussian_process.GaussianProcessRegressor(
            kernels.ConstantKernel(1.0) * kernels.RationalQuadratic(0.3) + kernels.DotProduct(), alpha=0.1),
        "PLSRegression": cross_decomposition.PLSRegression(2),
        "DummyRegressor": dummy.DummyRegressor(),
    }.items():
        case(name, "number", e)
    for name, e in {
        "LinearRegression, two targets": lm.LinearRegression(),
        "DecisionTreeRegressor, two targets": tree.DecisionTreeRegressor(max_depth=5),
        "RandomForestRegressor, two targets": en.RandomForestRegressor(5),
        "KNeighborsRegressor, two targets": neighbors.KNeighborsRegressor(weights="distance"),
        "MultiOutputRegressor": multioutput.MultiOutputRegressor(lm.Ridge()),
        "RegressorChain": multioutput.RegressorChain(lm.LinearRegression()),
    }.items():
        case(name, "numbers", e)


def transformers():
    pp, dc, fs = preprocessing, decomposition, feature_selection
    for name, e in {
        "StandardScaler": pp.StandardScaler(),
        "MinMaxScaler": pp.MinMaxScaler(clip=True),
        "MaxAbsScaler": pp.MaxAbsScaler(),
        "RobustScaler": pp.RobustScaler(),
        "Normalizer l1": pp.Normalizer("l1"),
        "Normalizer l2": pp.Normalizer("l2"),
        "Normalizer max": pp.Normalizer("max"),
        "Binarizer": pp.Binarizer(threshold=2.0),
        "PolynomialFeatures": pp.PolynomialFeatures(3),
        "PowerTransformer": pp.PowerTransformer(),
        "QuantileTransformer": pp.QuantileTransformer(n_quantiles=20),
        "KBinsDiscretizer": pp.KBinsDiscretizer(4, encode="ordinal"),
        "KBinsDiscretizer onehot": pp.KBinsDiscretizer(4, encode="onehot-dense"),
        "FunctionTransformer": pp.FunctionTransformer(),
        "PCA": dc.PCA(2),
        "KernelPCA": dc.KernelPCA(2, kernel="rbf"),
        "IncrementalPCA": dc.IncrementalPCA(2),
        "TruncatedSVD": dc.TruncatedSVD(2),
        "FastICA": dc.FastICA(2, random_state=0),
        "KMeans": cluster.KMeans(3, random_state=0, n_init=3),
        "MiniBatchKMeans": cluster.MiniBatchKMeans(3, random_state=0, n_init=3),
        "GaussianMixture": mixture.GaussianMixture(3, random_state=0),
        "BayesianGaussianMixture": mixture.BayesianGaussianMixture(n_components=2, random_state=0),
        "IsolationForest": ensemble.IsolationForest(n_estimators=10, random_state=0),
        "LocalOutlierFactor": neighbors.LocalOutlierFactor(novelty=True),
        "OneClassSVM": svm.OneClassSVM(),
        "SelectKBest": fs.SelectKBest(k=2),
        "SelectPercentile": fs.SelectPercentile(percentile=50),
        "SelectFromModel": fs.SelectFromModel(tree.DecisionTreeClassifier(random_state=0)),
        "VarianceThreshold": fs.VarianceThreshold(0.2),
        "RFE": fs.RFE(linear_model.LogisticRegression(max_iter=300), n_features_to_select=2),
        "GaussianRandomProjection": random_projection.GaussianRandomProjection(n_components=2, random_state=0),
        "NeighborhoodComponentsAnalysis": neighbors.NeighborhoodComponentsAnalysis(2, random_state=0),
        "RandomTreesEmbedding": ensemble.RandomTreesEmbedding(n_estimators=5, random_state=0, sparse_output=False),
    }.items():
        case(name, "three", e)
    x = with_holes(tables()["three"][0])
    case("SimpleImputer", "three", impute.SimpleImputer(), x=x)
    case("SimpleImputer median", "three", impute.SimpleImputer(strategy="median"), x=x)
    case("KNNImputer", "three", impute.KNNImputer(n_neighbors=2), x=x)
    case("HistGradientBoosting with holes", "three", ensemble.HistGradientBoostingClassifier(max_iter=5), x=x)
    case("DecisionTree with holes", "three", tree.DecisionTreeClassifier(max_depth=4, random_state=0), x=x)


def pipelines():
    make, lm, n = pipeline.make_pipeline, linear_model, 150
    text, word = texts(n), words(n)
    case("OneHotEncoder", "three", preprocessing.OneHotEncoder(handle_unknown="ignore", sparse_output=False), x=word)
    case("OrdinalEncoder", "three", preprocessing.OrdinalEncoder(), x=word)
    case("OrdinalEncoder, one column", "three", preprocessing.OrdinalEncoder(), x=word[:, :1])
    case("LabelEncoder", None, preprocessing.LabelEncoder(), x=word[:, 0])
    case("LabelBinarizer", None, preprocessing.LabelBinarizer(), x=tables()["three"][1].astype(np.int64))
    case("OneHotEncoder of integers", "three", preprocessing.OneHotEncoder(sparse_output=False, handle_unknown="ignore"),
         x=np.random.default_rng(1).integers(0, 4, (n, 3)).astype(np.int64))
    case("CountVectorizer", "three", feature_extraction.text.CountVectorizer(), x=text, text=True)
    case("CountVectorizer 2-grams", "three", feature_extraction.text.CountVectorizer(ngram_range=(1, 2)), x=text, text=True)
    case("TfidfVectorizer", "three", feature_extraction.text.TfidfVectorizer(), x=text, text=True)
    case("TfidfVectorizer + LogisticRegression", "names",
         make(feature_extraction.text.TfidfVectorizer(), lm.LogisticRegression()), x=text, text=True)
    case("DictVectorizer", "three", feature_extraction.DictVectorizer(sparse=False),
         x=[{"a": float(i), "b" if i % 2 else "c": 1.0} for i in range(n)], dicts=True)
    case("Scaler + PCA + SVC", "three", make(preprocessing.StandardScaler(), decomposition.PCA(3), svm.SVC(probability=True)))
    case("Scaler + LogisticRegression, zipmap", "names", make(preprocessing.StandardScaler(), lm.LogisticRegression()), zipmap=True)
    case("Imputer + Scaler + forest", "three",
         make(impute.SimpleImputer(), preprocessing.RobustScaler(), ensemble.RandomForestClassifier(10, random_state=0)),
         x=with_holes(tables()["three"][0]))
    case("FeatureUnion", "three", pipeline.make_union(decomposition.PCA(2), preprocessing.MinMaxScaler()))
    case("ColumnTransformer", "three", compose.ColumnTransformer(
        [("a", preprocessing.StandardScaler(), [0, 1]), ("b", preprocessing.KBinsDiscretizer(3, encode="onehot-dense"), [2])],
        remainder="passthrough"))
    case("ColumnTransformer of words + forest", "three", make(
        compose.ColumnTransformer([("a", preprocessing.OneHotEncoder(handle_unknown="ignore"), [0]),
                                   ("b", preprocessing.OrdinalEncoder(), [1])]),
        ensemble.GradientBoostingClassifier(n_estimators=5)), x=word)
    case("PolynomialFeatures + Ridge", "number", make(preprocessing.PolynomialFeatures(2), lm.Ridge()))


def boosters():
    if xgboost:
        for name, e, table in [
            ("XGBClassifier, two", xgboost.XGBClassifier(n_estimators=8), "two"),
            ("XGBClassifier, three", xgboost.XGBClassifier(n_estimators=8), "three"),
            ("XGBClassifier, ten", xgboost.XGBClassifier(n_estimators=5, max_depth=3), "digits"),
            ("XGBRFClassifier", xgboost.XGBRFClassifier(n_estimators=8), "three"),
            ("XGBRegressor", xgboost.XGBRegressor(n_estimators=10), "number"),
            ("XGBRegressor poisson", xgboost.XGBRegressor(n_estimators=5, objective="count:poisson"), "number"),
            ("XGBRegressor gamma", xgboost.XGBRegressor(n_estimators=5, objective="reg:gamma"), "number"),
            ("XGBRFRegressor", xgboost.XGBRFRegressor(n_estimators=5), "number"),
        ]:
            case(name, table, e)
        case("XGBClassifier with holes", "three", xgboost.XGBClassifier(n_estimators=5),
             x=with_holes(tables()["three"][0]))
    if lightgbm:
        quiet = {"verbose": -1, "n_estimators": 6, "min_child_samples": 5}
        for name, e, table in [
            ("LGBMClassifier, two", lightgbm.LGBMClassifier(**quiet), "two"),
            ("LGBMClassifier, three", lightgbm.LGBMClassifier(**quiet), "three"),
            ("LGBMClassifier, names", lightgbm.LGBMClassifier(**quiet), "names"),
            ("LGBMClassifier forest", lightgbm.LGBMClassifier(boosting_type="rf", bagging_freq=1, bagging_fraction=0.7, **quiet), "three"),
            ("LGBMRegressor", lightgbm.LGBMRegressor(**quiet), "number"),
            ("LGBMRegressor poisson", lightgbm.LGBMRegressor(objective="poisson", **quiet), "number"),
            ("LGBMRegressor tweedie", lightgbm.LGBMRegressor(objective="tweedie", **quiet), "number"),
        ]:
            case(name, table, e)
        case("LGBMClassifier with holes", "three", lightgbm.LGBMClassifier(**quiet), x=with_holes(tables()["three"][0]))


def register():
    from skl2onnx.common.shape_calculator import (calculate_linear_classifier_output_shapes,
                                                  calculate_linear_regressor_output_shapes)

    options = {"nocl": [True, False], "zipmap": [True, False, "columns"]}
    if xgboost:
        for kind in (xgboost.XGBClassifier, xgboost.XGBRFClassifier):
            update_registered_converter(kind, kind.__name__, calculate_linear_classifier_output_shapes,
                                        convert_xgboost, options=options)
        for kind in (xgboost.XGBRegressor, xgboost.XGBRFRegressor):
            update_registered_converter(kind, kind.__name__, calculate_linear_regressor_output_shapes,
                                        convert_xgboost)
    if lightgbm:
        update_registered_converter(lightgbm.LGBMClassifier, "LgbmClassifier",
                                    calculate_linear_classifier_output_shapes, convert_lightgbm, options=options)
        update_registered_converter(lightgbm.LGBMRegressor, "LgbmRegressor",
                                    calculate_linear_regressor_output_shapes, convert_lightgbm,
                                    options={"split": [None, 500]})


# ── One model ────────────────────────────────────────────────────────────────────────────────────


def input_type(x, options):
    if options.get("dicts"):
        return DictionaryType(StringTensorType([1]), FloatTensorType([1]))
    kind = {"O": StringTensorType, "U": StringTensorType, "i": Int64TensorType, "f": FloatTensorType}[x.dtype.kind]
    return kind([None] if x.ndim == 1 else [None, x.shape[1]])


def converter_options(estimator, zipmap):
    """For all parts: no locale that has to be installed, and maps only where they are asked for."""
    parts = [e for _, e in estimator.steps] if isinstance(estimator, pipeline.Pipeline) else [estimator]
    options = {id(e): {"locale": "C.UTF-8"} for e in parts if isinstance(e, feature_extraction.text.CountVectorizer)}
    if sklearn.base.is_classifier(parts[-1]):
        options[id(parts[-1])] = {"zipmap": zipmap}
    return options


def prepare(table, estimator, options, rows):
    """Trained and converted: (ONNX model, rows it has not seen, the estimator)."""
    x, y = tables()[table] if table else (None, None)
    x = options.get("x", x)
    order = np.random.default_rng(7).permutation(len(x))
    pick = (lambda i: [x[k] for k in i]) if isinstance(x, list) else (lambda i: x[i])
    train = pick(order[rows:])
    train = train.ravel() if options.get("text") else train
    estimator.fit(train, *([] if y is None else [y[order[rows:]]]))
    arguments = {"initial_types": [("X", input_type(x, options))], "target_opset": {"": 18, "ai.onnx.ml": 3}}
    try:
        model = to_onnx(estimator, options=converter_options(estimator, options.get("zipmap", False)), **arguments)
    except (NameError, ValueError):  # a converter without the option
        model = to_onnx(estimator, **arguments)
    return model, pick(order[:rows]), estimator


def as_input(x):
    return x if not isinstance(x, np.ndarray) or x.dtype.kind not in "OU" else x.astype(object)


def ort_run(model, x):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: x})


def save(x, path):
    if isinstance(x, dict):
        data = onnx.MapProto(key_type=onnx.TensorProto.STRING)
        data.string_keys.extend(k.encode() for k in x)
        data.values.elem_type = onnx.SequenceProto.TENSOR
        data.values.tensor_values.extend(numpy_helper.from_array(np.array(v, np.float32)) for v in x.values())
    elif x.dtype.kind in "OU":
        data = onnx.helper.make_tensor("", onnx.TensorProto.STRING, x.shape, [str(s).encode() for s in x.ravel()])
    else:
        data = numpy_helper.from_array(x)
    with open(path, "wb") as f:
        f.write(data.SerializeToString())


def load(path, kind):
    with open(path, "rb") as f:
        raw = f.read()
    if kind != "sequence_type":
        return numpy_helper.to_array(onnx.TensorProto.FromString(raw))
    return [{k.decode() if isinstance(k, bytes) else k: v.item() for k, v in d.items()}
            for d in numpy_helper.to_list(onnx.SequenceProto.FromString(raw))]


def onx_run(onx, model, x, folder):
    path, out = os.path.join(folder, "model.onnx"), os.path.join(folder, "out")
    with open(path, "wb") as f:
        f.write(model.SerializeToString())
    save(x, os.path.join(folder, "input_0.pb"))
    r = subprocess.run([onx, "run", "--inputs", folder, "-o", out, path], capture_output=True, text=True, timeout=120)
    if r.returncode:
        raise RuntimeError(" ".join((r.stderr or r.stdout).split()))
    return [load(os.path.join(out, f"output_{i}.pb"), o.type.WhichOneof("value"))
            for i, o in enumerate(model.graph.output)]


# ── Comparing ────────────────────────────────────────────────────────────────────────────────────


def distance(a, b):
    """0: equal; the largest difference of numbers; infinity where they cannot be compared."""
    if isinstance(a, list):
        if len(a) != len(b) or any(x.keys() != y.keys() for x, y in zip(a, b)):
            return np.inf
        return max([abs(x[k] - y[k]) for x, y in zip(a, b) for k in x], default=0.0)
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return np.inf
    if a.dtype.kind in "OUS" or b.dtype.kind in "OUS":
        text = [[s.decode() if isinstance(s, bytes) else str(s) for s in v.ravel()] for v in (a, b)]
        return 0.0 if text[0] == text[1] else np.inf
    if a.dtype.kind in "iub":
        return 0.0 if a.dtype == b.dtype and (a == b).all() else np.inf
    a, b = a.astype(np.float64), b.astype(np.float64)
    both = np.isnan(a) & np.isnan(b)
    d = np.abs(a - b) / np.maximum(1, np.abs(b))
    d[both | (a == b)] = 0
    return float(np.nan_to_num(d.max(initial=0.0), nan=np.inf))


def answer(estimator, x, options):
    """What the library itself says to the same rows."""
    x = x.ravel() if options.get("text") else x
    for method in ("predict", "transform"):
        if hasattr(estimator, method):
            return np.asarray(getattr(estimator, method)(x))
    return None


def run_case(onx, spec, rows, keep):
    name, table, estimator, options = spec
    try:
        model, x, trained = prepare(table, estimator, options, rows)
    except Exception as e:  # noqa: BLE001  the converter's limits are not ours
        return "not converted", f"{type(e).__name__}: {str(e).splitlines()[0][:90]}"
    inputs = x if options.get("dicts") else [as_input(x)]
    worst, ours, theirs = 0.0, [], []
    for one in inputs[:5]:
        try:
            theirs.append(ort_run(model, one))
        except Exception as e:  # noqa: BLE001
            return "not run by ONNX Runtime", str(e).splitlines()[0][:90]
        with tempfile.TemporaryDirectory() as folder:
            if keep:
                folder = os.path.join(keep, re.sub(r"\W+", "_", name))
                os.makedirs(folder, exist_ok=True)
            try:
                ours.append(onx_run(onx, model, one, folder))
            except Exception as e:  # noqa: BLE001
                return "FAILED", str(e)[:160]
        worst = max([worst] + [distance(a, b) for a, b in zip(ours[-1], theirs[-1])])
    operators = len({n.op_type for n in model.graph.node})
    if worst <= 1e-4:
        return "same", f"{len(model.graph.node)} nodes, {operators} operators, {worst:.1e}"
    truth = None if options.get("dicts") else answer(trained, x, options)
    if truth is not None:
        first = [np.asarray(r[0][0]) for r in (ours, theirs)]
        off = [distance(f.reshape(truth.shape) if f.size == truth.size else f, truth.astype(f.dtype)) for f in first]
        if off[0] <= 1e-4 < off[1]:
            return "as the library", f"ONNX Runtime is off by {off[1]:.1e}"
        return "DIFFERS", f"by {worst:.1e}; from the library: {off[0]:.1e}, ONNX Runtime: {off[1]:.1e}"
    return "DIFFERS", f"by {worst:.1e}"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--onx", default="build/onx")
    p.add_argument("--filter", default="")
    p.add_argument("--keep", help="a folder for the models and their inputs")
    p.add_argument("--rows", type=int, default=60)
    a = p.parse_args()
    register()
    for fill in (classifiers, regressors, transformers, pipelines, boosters):
        fill()
    counts = {}
    for spec in CASES:
        if not re.search(a.filter, spec[0]):
            continue
        verdict, note = run_case(a.onx, spec, a.rows, a.keep)
        counts[verdict] = counts.get(verdict, 0) + 1
        print(f"{spec[0]:42} {verdict:15} {note}", flush=True)
    print(", ".join(f"{n} {what}" for what, n in sorted(counts.items(), key=lambda c: -c[1])))
    return 1 if counts.get("FAILED") or counts.get("DIFFERS") else 0


if __name__ == "__main__":
    sys.exit(main())
