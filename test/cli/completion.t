# Completion in bash: commands, options, values, files.
$ sh complete.sh onx ''
|info
|print
|check
|infer
|convert
|extract
|merge
|inline
|rename
|dims
|strip
|optimize
|constants
|export
|code
|tensor
|run
|conform
|diff
|bench
|plan
|ops
|version
|help
|--help
|--version
$ sh complete.sh onx con
|convert
|constants
|conform
$ sh complete.sh onx info --
|--json
|--from
|--library
|--help
$ sh complete.sh onx convert --ex
|--external
|--external-many
$ sh complete.sh onx convert --to ''
|protobuf
|onnxtxt
|json
|textproto
$ sh complete.sh onx convert --to = te
|textproto
$ sh complete.sh onx tensor --type s
|sequence
|sparse
$ sh complete.sh onx help v
|version
$ mkdir sub && : >model.onnx && : >tensor.npy && : >notes.md
$ sh complete.sh onx print mo
|model.onnx
$ sh complete.sh onx tensor te
|tensor.npy
$ sh complete.sh onx print te
$ sh complete.sh onx print su
|sub
$ sh complete.sh onx info no
|none.textproto
$ sh complete.sh onx run --level ''
|0
|1
|2
|3
$ sh complete.sh onx bench --cpu = av
|avx2
|avx512
$ sh complete.sh onx run --inputs su
|sub
$ sh complete.sh onx run -o te
$ sh complete.sh onx run --input house = te
|tensor.npy
$ sh complete.sh onx plan mo
|model.onnx
# Every command and option is offered.
$ for c in $(onx help --list-options); do for o in $(onx help --list-options $c); do sh complete.sh onx $c $o; done; done | sort -u
|--align
|--all
|--all-values
|--atol
|--attributes
|--by-name
|--color
|--compare
|--convert
|--cpu
|--custom-opset
|--dims
|--disable
|--docs
|--dtype
|--dynamic
|--dynamic-axes
|--emit-table
|--enable
|--except
|--expose-mutations
|--external
|--external-many
|--fast
|--filter
|--first-metadata
|--fix
|--fixed
|--fold-limit
|--free
|--from
|--full
|--functions
|--graph
|--graphs
|--help
|--initializers
|--inline
|--input
|--input-names
|--input-shape
|--inputs
|--json
|--keep
|--keep-initializers-as-inputs
|--lang
|--level
|--library
|--list
|--list-options
|--lowerings
|--map
|--max-elements
|--memory
|--metadata
|--method
|--model
|--modules-as-functions
|--name
|--names
|--no-color
|--no-constant-folding
|--no-params
|--nodes
|--only
|--ops
|--opset
|--output
|--output-dir
|--output-names
|--outputs
|--prefix
|--prefix1
|--prefix2
|--prefixes
|--producer
|--profile
|--provider
|--quiet
|--random
|--report
|--rtol
|--rules
|--sample-inputs
|--schema
|--seconds
|--seed
|--set
|--share-inputs
|--stats
|--strict
|--threads
|--threshold
|--through
|--to
|--to-initializers
|--to-inputs
|--to-nodes
|--touch
|--training
|--type
|--unused
|--value-info
|--values
|--verbose
|--verify
|--weights
|--why
|--width
