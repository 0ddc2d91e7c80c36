# Help, in all the ways to ask for it.
$ onx
|usage: onx COMMAND [OPTIONS] ...
|
|onx reads, shows, writes and runs ONNX models.
|
|commands:
|  info      what is in a model: versions, inputs and outputs, operators, parameters
|  print     a listing of a model, to be read by people
|  check     whether models follow the rules of ONNX, and where they do not
|  infer     types and shapes of a model's values, with symbolic sizes, and why one is not known
|  convert   a model from any format to any other, with its data inside or beside it
|  extract   the part of a model between some of its values, as a model
|  merge     models that become one, outputs of the ones as inputs of the others
|  inline    calls of functions replaced by what the functions compute
|  rename    new names for values, nodes, functions and dimensions of a model
|  dims      the dimensions of a model: listed, fixed, freed
|  strip     a model without what its results do not depend on
|  optimize  a model that computes the same with less work, in portable ONNX
|  constants where constants stand: in nodes, as initializers, as inputs with a default
|  export    an ONNX model of a PyTorch file: TorchScript (.pt) or torch.export (.pt2)
|  code      a model as the program, in C or Python, that builds it
|  tensor    tensors and other data: shown, compared, converted
|  run       a model: compute its outputs, or any of its values
|  conform   conformance tests: models with recorded inputs and outputs
|  diff      a model run in two ways: the first node where they differ, and by how much
|  bench     a model, measured: time to load it, time of a run, memory
|  plan      how a model would be run: its steps and kernels, and where values lie in memory
|  ops       operators that onx knows, or that a model needs
|  version   version, ONNX versions known, optional libraries, compiler
|  help      the commands, or more about one of them
|
|'onx help COMMAND' or 'onx COMMAND --help' says more about a command.
|Exit status: 0 all is well, 1 the model or data is bad or a file cannot be read or written,
|2 the command line is wrong.
$ onx help >a; onx --help >b; onx -h >c; onx >d; cmp a b && cmp a c && cmp a d
$ onx help info
|usage: onx info [--json] MODEL...
|
|Shows what is in a model: versions, inputs and outputs with their types, operators with how often
|each occurs, parameters by element type, external files and whether they are all there. Reads the
|structure only, so the size of the weights does not matter. External data may be missing.
|MODEL is a file in any format, or - for standard input. With --json, one document for each model.
|
|options:
|  --json                  write a JSON document
|  --from FORMAT           format of the models, if their names do not tell
|  --library FILE          operators from a shared library; may be given many times
|  -h, --help              show this help
$ onx help print
|usage: onx print [OPTIONS] MODEL
|
|Lists a model: inputs and outputs, initializers with their first elements, the nodes one by one
|with the types that are declared, subgraphs below their node, then functions. Small constants
|stand where they are used. The listing does not say everything and is not meant to be parsed: for
|text that can be edited and read back, convert to .onnxtxt.
|
|options:
|  --graph NAME            only the graphs and functions of this name
|  --all                   all elements of constants, and whole strings
|  --max-elements N        elements of a constant to show (8)
|  --width N               fold lines to N columns; 0: do not (the terminal's width)
|  --color                 in colour even if the output is no terminal
|  --no-color              without colour
|  --from FORMAT           format of the model, if its name does not tell
|  --library FILE          operators from a shared library; may be given many times
|  -h, --help              show this help
$ onx help convert
|usage: onx convert [OPTIONS] IN OUT
|
|Reads the model IN and writes it as OUT. The endings choose the formats:
|  .onnx .pb                               protobuf
|  .onnxtxt .onnxtext                      onnxtxt, the ONNX text syntax
|  .json .onnxjson                         json
|  .textproto .txtpb .prototxt .pbtxt      textproto, the protobuf text format
|IN may be - for standard input, and OUT - for standard output (with --to). Nothing is lost on the
|way between any two formats. OUT is replaced whole or not at all. External data stay external,
|and are copied along, unless an option says otherwise. With --opset the model is rewritten for
|other versions of its opsets, up or down: what cannot be kept is listed, and nothing written.
|
|options:
|  --from FORMAT           format of IN, if its name does not tell
|  --to FORMAT             format of OUT, if its name does not tell
|  --opset VERSION         of ai.onnx (18), or of another opset (ai.onnx.ml=3); may be repeated
|  --external[=FILE]       move tensor data into one file beside OUT (OUT.data)
|  --external-many         move tensor data into one file per tensor
|  --inline                move all tensor data into OUT
|  --threshold BYTES       only move tensors of at least this size (1k)
|  --align BYTES           alignment of tensors in data files, a power of two (4k)
|  --attributes            also move tensors in attributes of nodes
|  --touch                 write every message anew, instead of keeping its bytes
|  --library FILE          operators from a shared library; may be given many times
|  -h, --help              show this help
$ onx help tensor
|usage: onx tensor [OPTIONS] FILE...
|
|Shows data files: type, range of the elements, and the elements, as NumPy does. FILE is one of
|  .pb .json .textproto    a tensor, sequence, map, optional or sparse tensor of ONNX
|  .npy .npz               NumPy's; an .npz file is a sequence of named tensors
|  .onnx .onnxtxt          a model: its initializers, or with --name one of them
|or - for standard input. With --output, writes a file instead; several tensors become a sequence.
|With --compare, tells whether two files hold the same values, in the same order: dtypes and shapes
|must agree, and |a - b| <= atol + rtol * |b| for each element. NaN equals NaN.
|
|options:
|  --type KIND             tensor, sequence, map, optional or sparse, if the content does not tell
|  --name NAME             the tensor of this name in a sequence, .npz file or model
|  -o, --output FILE       write to FILE instead: .pb .npy .npz .json .textproto
|  --dtype TYPE            convert the elements first: float, float16, int64, …
|  --full                  show all elements
|  --stats                 show no elements, only how many there are, and their range
|  --compare               compare two files value by value
|  --rtol R                with --compare: relative tolerance (0)
|  --atol A                with --compare: absolute tolerance (0)
|  --library FILE          operators from a shared library; may be given many times
|  -h, --help              show this help
$ onx help version
|usage: onx version
|
|Shows the version of onx, the newest versions of ONNX it knows, the optional libraries it was built
|with, and the compiler.
|
|options:
|  --library FILE          operators from a shared library; may be given many times
|  -h, --help              show this help
$ onx help help
|usage: onx help [COMMAND]
|
|Shows the commands, or what one of them does and which options it has.
|
|options:
|  --list-options          only the names of the options, one to a line (for shell completion)
|  --library FILE          operators from a shared library; may be given many times
|  -h, --help              show this help
$ for c in info print convert tensor version help; do onx help $c >a; onx $c --help >b; onx $c -h >c; cmp a b && cmp a c; done
$ onx help nothing
|onx help: there is no command 'nothing'; see 'onx help help'
[2]
$ onx version | sed 's/^  compiler .*/  compiler …/; /^  with /d; s/onx [0-9].*/onx …/'
|onx …
|  ONNX      IR version 14, opset 28
|  compiler …
$ onx --version >a; onx -V >b; onx version >c; cmp a b && cmp a c
