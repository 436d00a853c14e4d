//! Layouts whose stored elements are all the same: kernels do not read them, and refuse arrays with others.

use std::sync::Arc;

use siskin::kernel::{Coiterate, CompiledKernel};
use siskin::layout::LayoutSpec;
use siskin::packing::{PackOptions, pack};
use siskin::tensor::{Entries, ValueType, Values};
use siskin::{Kernel, Layout, Tensor};

use crate::study::random::Random;
use crate::study::tensors::stored;

const FORMATS: [&str; 6] = [
    "Dense(SparseList(LEAF))",
    "SparseList(SparseList(LEAF))",
    "SparseDict(SparseDict(LEAF))",
    "Dense(SparseByteMap(LEAF))",
    "Dense(SparseInterval(LEAF))",
    "SparseCOO{2}(LEAF)",
];

/// Columns of which each holds one run of ones, in a format with a leaf.
fn runs(random: &mut Random, format: &str, leaf: &str, dims: [usize; 2]) -> Tensor {
    let columns: Vec<(usize, usize)> =
        (0..dims[1]).map(|_| (random.below(dims[0]), random.below(dims[0]))).collect();
    let points = columns.iter().enumerate().flat_map(|(j, (begin, length))| {
        let end = dims[0].min(begin + length);
        (*begin..end).map(move |i| (i, j))
    });
    let (is, js): (Vec<u64>, Vec<u64>) = points.map(|(i, j)| (i as u64, j as u64)).unzip();
    let values = match leaf {
        "Pattern()" => Values::Bool(vec![true; is.len()]),
        _ => Values::F64(vec![1.0; is.len()]),
    };
    let layout = Arc::new(Layout::named_for_rank(&format.replace("LEAF", leaf), 2).unwrap());
    let entries = Entries::new(dims.to_vec(), vec![is.into(), js.into()], values).unwrap();
    pack(&layout, &entries, &PackOptions::default()).unwrap()
}

fn core_of(module: &str) -> &str {
    let core = module.split("unsafe fn core").nth(1).unwrap();
    core.split("\n}").next().unwrap()
}

#[test]
fn what_has_one_value_is_not_read() {
    let dims = [7, 9];
    for format in FORMATS {
        for (statement, x, scheme) in [
            ("y[i] += A[i,j] * x[j]", "dense", Coiterate::Auto),
            ("y[i] += A[i,j] * x[j]", "sparse", Coiterate::Find),
            ("y[i] += A[i,j] * x[j]", "sparse", Coiterate::Looplets),
            ("y[i] max= A[i,j] * x[j]", "dense", Coiterate::Auto),
            ("y[j] += A[i,j] * (A[i,j] + 2) * x[j]", "dense", Coiterate::Auto),
            ("y[i] += A[i,j] * x[j] - A[i,j]", "dense", Coiterate::Auto),
        ] {
            let kernel = |leaf: &str| {
                let kernel = Kernel::new(statement).coiterate(scheme);
                let kernel = kernel.layout("A", &format.replace("LEAF", leaf)).layout("x", x);
                kernel.compile().unwrap()
            };
            let (truths, ones) = (kernel("Pattern()"), kernel("Element(0.0)"));
            let text = truths.planned().render().unwrap().text().to_string();
            assert!(!core_of(&text).contains("val_A"), "{statement}, {scheme:?}, {format}: {text}");
            for seed in 0..4 {
                let run = |compiled: &CompiledKernel, leaf: &str| {
                    let mut random = Random(seed);
                    let a = runs(&mut random, format, leaf, dims);
                    let some = |r: &mut Random| 1.0 + r.below(5) as f64;
                    let x = stored(&mut random, x, &dims[1..], 70, some);
                    let result = compiled.run([("A", &a), ("x", &x)]).unwrap();
                    result.dense().unwrap().values().as_slice::<f64>().unwrap().to_vec()
                };
                let (found, expected) = (run(&truths, "Pattern()"), run(&ones, "Element(0.0)"));
                assert_eq!(found, expected, "{statement}, {scheme:?}, {format}, {seed}");
            }
        }
    }
}

#[test]
fn other_values_than_the_one_are_refused() {
    for format in FORMATS.iter().chain(&["hashed(hashed(LEAF))", "hashed(compressed(LEAF))"]) {
        let mut whole = runs(&mut Random(5), format, "Pattern()", [7, 9]);
        whole.validate().unwrap();
        let mut values = vec![true; whole.stored()];
        values[whole.stored() / 2] = false;
        let mut broken = runs(&mut Random(5), format, "Pattern()", [7, 9]);
        *broken.values_mut() = Values::Bool(values);
        let e = broken.validate().unwrap_err();
        assert!(e.message.contains("is not true"), "{format}: {}", e.message);
        let compiled = Kernel::new("y[i] += A[i,j]")
            .layout("A", &format.replace("LEAF", "Pattern()"))
            .compile()
            .unwrap();
        assert!(compiled.run([("A", &broken)]).is_err(), "{format}");
        let whole = compiled.run([("A", &whole)]).unwrap();
        assert!(whole.values().len() == 7, "{format}");
    }
}

#[test]
fn modules_compare_values_with_a_constant_of_their_type() {
    let form = "name = \"one\"\ndims = [\"i\"]\nvalue = \"val(p0)\"\n\
                relation = \"{ [p0] -> [i] : 0 <= p0 < NNZ and i = crd(p0) }\"\n\
                params = { NNZ = \"count\" }\nconstant = \"CONSTANT\"\n\
                [index.crd]\ndomain = \"0 <= p0 < NNZ\"\nrange = \"0 <= crd(p0) < I\"\n\
                [[property]]\nkind = \"monotonic\"\narray = \"crd\"\nstrict = true\n";
    for (constant, ty, check) in [
        ("true", ValueType::Bool, "|x: bool| !x;"),
        ("false", ValueType::Bool, "|x: bool| x;"),
        ("2.5", ValueType::F64, "|x: f64| x != 2.5_f64;"),
        ("NaN", ValueType::F64, "|x: f64| !x.is_nan();"),
        ("-Inf", ValueType::F64, "|x: f64| x != f64::NEG_INFINITY;"),
        ("Int32(7)", ValueType::I32, "|x: i32| x != 7_i32;"),
        // There are no such values.
        ("2.5", ValueType::F32, "|_: f32| true;"),
        ("true", ValueType::F64, "|_: f64| true;"),
    ] {
        let spec = LayoutSpec::from_toml("one", &form.replace("CONSTANT", constant)).unwrap();
        let layout = spec.instantiate(1).unwrap();
        let kernel = Kernel::new("r[] += x[i] * y[i]").declared("x", &Arc::new(layout));
        let kernel = kernel.layout("y", "dense").values(ty);
        let text = kernel.plan().unwrap().render().unwrap().text().to_string();
        assert!(text.contains(&format!("let outside = {check}")), "{constant}, {ty}: {text}");
    }
}
