//! Reductions along what is stored: segments that follow each other are one loop, long rows are told from the next
//! before they are reduced, extremes are compared several at once; and all of that computes the same.

use std::sync::Arc;

use siskin::layout::LayoutSpec;
use siskin::packing::{PackOptions, pack};
use siskin::tensor::{Entries, IndexData, Value, ValueType, Values};
use siskin::{Kernel, Layout, Tensor};

use crate::study::random::Random;

fn text(kernel: Kernel) -> String {
    kernel.plan().unwrap().render().unwrap().text().to_string()
}

/// How many loops the code has, in whatever form.
fn loops(expression: &str, layout: &str) -> usize {
    let text = text(Kernel::new(expression).layout("A", layout));
    let core = text.split("unsafe fn core(").nth(1).unwrap().split("\n}\n").next().unwrap();
    let starts = |line: &&str| {
        let line = line.trim_start();
        line.starts_with("for ") || line.starts_with("while ") || line.contains("sum_of")
    };
    core.lines().filter(starts).count()
}

#[test]
fn segments_that_follow_each_other_are_walked_as_one() {
    for (expression, layout, expected) in [
        ("s += A[i,j]", "csr", 1),
        ("s += A[i,j] * A[i,j]", "csc", 1),
        ("s += A[i,j,k]", "csf", 1),
        ("y[i] += A[i,j,k]", "csf", 2),
        ("s += A[i,j]", "dcsr", 1),
        // Something depends on where the segment is.
        ("s += A[i,j] * x[i]", "csr", 2),
        ("y[i] += A[i,j]", "csr", 2),
        ("Y[i,j] += A[i,j,k]", "csf", 3),
        // Rows of a padded array do not follow each other.
        ("s += A[i,j]", "ell", 2),
    ] {
        assert_eq!(loops(expression, layout), expected, "{expression} in {layout}");
    }
    let layout = "SparseList(Dense(SparseList(Element(0.0))))";
    assert_eq!(
        loops("s += A[i,j,k]", layout),
        3,
        "segments of a dense level are not told apart by one number"
    );
}

#[test]
fn rows_within_a_sum_are_added_in_several_chains() {
    let chains = |kernel: Kernel| text(kernel).matches(" = sum_of_many(").count();
    let of = |expression: &str, layout: &str| Kernel::new(expression).layout("A", layout);
    for (expression, layout) in [
        ("s += A[i,j]", "dense"),
        ("s += A[i,j] * x[j]", "dense"),
        ("s += A[i,j] * x[i] * x[j]", "dense"),
        ("y[i] += A[i,j,k] * x[k]", "dense"),
        ("s += A[i,j]", "ell"),
        ("s += A[i,j] * x[j]", "dia"),
        ("s += A[i,j]", "lower-triangular"),
    ] {
        assert_eq!(chains(of(expression, layout)), 1, "{expression} in {layout}");
        assert_eq!(chains(of(expression, layout).strict_fp()), 0, "{expression} in {layout}");
    }
    for (expression, layout, why) in [
        ("s += A[i,j] * x[i] * x[j]", "csr", "what is looked up comes in short rows"),
        ("s += A[i,j]", "bcsr(2,2)", "rows of blocks are short"),
    ] {
        assert_eq!(chains(of(expression, layout)), 0, "{expression} in {layout}: {why}");
    }
}

#[test]
fn segments_of_which_one_may_end_before_it_begins_are_walked_one_by_one() {
    let declared = |rises: &str| {
        let text = format!(
            "name = \"rows\"\ndims = [\"i\", \"j\"]\n\
             relation = \"{{ [r, p] -> [i, j] : 0 <= r < I and i = r and pos(r) <= p < pos(r + 1) and j = crd(p) }}\"\n\
             value = \"val(p)\"\n[params]\nNNZ = \"count\"\n\
             [index.pos]\ndomain = \"0 <= r <= I\"\nrange = \"0 <= pos(r) <= NNZ\"\n\
             [index.crd]\ndomain = \"0 <= p < NNZ\"\nrange = \"0 <= crd(p) < J\"\n{rises}"
        );
        let layout =
            Arc::new(LayoutSpec::from_toml("rows", &text).unwrap().instantiate(2).unwrap());
        text_of_sum(&layout)
    };
    let rises = "[[property]]\nkind = \"monotonic\"\narray = \"pos\"\n";
    assert!(!declared(rises).contains("for "), "declared to rise");
    assert!(declared("").contains("for "), "nothing is declared");
}

fn text_of_sum(layout: &Arc<Layout>) -> String {
    let text = text(Kernel::new("s += A[i,j]").declared("A", layout));
    text.split("unsafe fn core(").nth(1).unwrap().split("\n}\n").next().unwrap().to_string()
}

/// A tensor whose entries come in `rows` of the first dimensions, so many each on average.
fn tensor(random: &mut Random, dims: &[usize], each: usize, ty: ValueType) -> Entries {
    let (last, outer) = dims.split_last().unwrap();
    let rows: usize = outer.iter().product();
    let mut coords: Vec<Vec<u64>> = vec![Vec::new(); dims.len()];
    let mut values = Vec::new();
    for row in 0..rows {
        // Some rows are empty, some full.
        let percent = [0, 100, 100 * each / last][random.below(3)];
        for k in (0..*last).filter(|_| random.chance(percent)).collect::<Vec<_>>() {
            let mut rest = row;
            for (column, extent) in coords.iter_mut().zip(outer).rev() {
                column.push((rest % extent) as u64);
                rest /= extent;
            }
            coords[outer.len()].push(k as u64);
            values.push(match random.below(9) {
                0 if ty.is_float() => f64::NAN,
                1 if ty.is_float() => [f64::INFINITY, f64::NEG_INFINITY][random.below(2)],
                n if ty == ValueType::U8 => n as f64,
                n => n as f64 * 3.0 - random.below(40) as f64,
            });
        }
    }
    let values = Values::F64(values).convert(ty).unwrap();
    Entries::new(dims.to_vec(), coords.into_iter().map(IndexData::U64).collect(), values).unwrap()
}

/// Elements as text, so that NaN is equal to itself.
fn shown(tensor: &Tensor) -> String {
    let all = (0..tensor.stored()).map(|k| match Value::element(tensor.values(), k) {
        // Either zero may be the greater.
        Value::F64(x) => format!("{:?}", x + 0.0),
        Value::F32(x) => format!("{:?}", x + 0.0),
        other => format!("{other:?}"),
    });
    all.collect::<Vec<_>>().join(" ")
}

#[test]
fn reductions_are_the_same_in_all_layouts_and_of_all_lengths() {
    let mut random = Random(77);
    let shapes: [&[usize]; 7] =
        [&[3, 1500], &[40, 60], &[200, 9], &[1, 3], &[4, 3, 700], &[6, 50, 20], &[2, 9, 9, 90]];
    let types = [ValueType::F64, ValueType::F32, ValueType::F64, ValueType::I64, ValueType::U8];
    for case in 0..28 {
        let (dims, ty) = (shapes[case % shapes.len()], types[random.below(types.len())]);
        let each = [2, 600, 40][random.below(3)].min(dims[dims.len() - 1]);
        let entries = tensor(&mut random, dims, each, ty);
        let names = ["i", "j", "k", "l"];
        let kept = random.below(dims.len());
        let op = ["+", "max", "min"][random.below(3)];
        let element = format!("A[{}]", names[..dims.len()].join(","));
        let value = match op == "+" && ty.is_float() {
            true => format!("select({element} < 1, 2, 5)"),
            false => element,
        };
        let statement = format!("y[{}] {op}= {value}", names[..kept].join(","));
        let run = |layout: &str, strict: bool| {
            let layout = Arc::new(Layout::named_for_rank(layout, dims.len()).unwrap());
            let a = pack(&layout, &entries, &PackOptions::default()).unwrap();
            let kernel = Kernel::new(&statement).declared("A", &layout).typed("A", ty);
            let kernel = if strict { kernel.strict_fp() } else { kernel };
            shown(&kernel.compile().unwrap().run([("A", &a)]).unwrap())
        };
        let layouts: &[&str] = match dims.len() {
            2 => &["csr", "dcsr", "coo-unsorted", "ell"],
            _ => &["csf", "coo-unsorted"],
        };
        let (expected, layout) = (run("dense", true), layouts[random.below(layouts.len())]);
        for (layout, strict) in [(layout, false), ("coo", false), ("coo", true)] {
            let got = run(layout, strict);
            assert_eq!(got, expected, "{statement} of {ty} in {layout}, {dims:?}");
        }
    }
}

#[test]
fn extremes_of_numbers_take_one_comparison() {
    let begun = |text: &str| text.matches(">= f64::NEG_INFINITY").count();
    let compared = |text: &str| text.matches("select_unpredictable(compared").count();
    let rows = |statement: &str, fill: Value| {
        let kernel = Kernel::new(statement).only_way().values(fill.value_type());
        text(kernel.layout("A", "csr").fill("A", fill))
    };
    let inf = f64::INFINITY;
    // What the result holds before is asked for each row; then, the loop is there twice.
    for (statement, fill) in [("y[i] min= A[i,j] + x[j]", inf), ("y[i] max= A[i,j] + x[j]", -inf)] {
        let text = rows(statement, Value::F64(fill));
        assert_eq!((begun(&text), compared(&text)), (1, 1), "{text}");
    }
    let of_f32 = rows("y[i] min= A[i,j] + x[j]", Value::F32(f32::INFINITY));
    assert_eq!(of_f32.matches(">= f32::NEG_INFINITY").count(), 1);
    for (statement, fill, why) in [
        ("y[i] += A[i,j] + x[j]", Value::F64(0.0), "a sum"),
        ("y[j] min= A[i,j] + x[i]", Value::F64(inf), "nothing begins in a row"),
        ("y[i] min= A[i,j] + x[j]", Value::I64(i64::MAX), "integers are numbers"),
    ] {
        let text = rows(statement, fill);
        assert_eq!((begun(&text), compared(&text)), (0, 0), "{statement}: {why}");
    }
}

#[test]
fn extremes_are_the_least_and_greatest_numbers_whatever_is_none() {
    let mut random = Random(78);
    let [inf, nan] = [f64::INFINITY, f64::NAN];
    for case in 0..24 {
        let dims = [[30, 7], [9, 60], [5, 300]][case % 3];
        let entries = tensor(&mut random, &dims, dims[1] / 3, ValueType::F64);
        let mut some = |n: usize| -> Vec<f64> {
            let value = |random: &mut Random| [nan, 2.0, -1.5, inf, -inf, 0.25][random.below(6)];
            (0..n).map(|_| value(&mut random)).collect()
        };
        let (x, mut y) = (some(dims[1]), some(dims[0]));
        let (op, combine): (_, fn(f64, f64) -> f64) = match case % 2 {
            0 => ("min", f64::min),
            _ => ("max", f64::max),
        };
        let fill = if op == "min" { inf } else { -inf };
        let mut expected = vec![nan; dims[0]];
        let [rows, columns] = [0, 1].map(|d| entries.coords()[d].iter_i64());
        let values = entries.values().as_slice::<f64>().unwrap();
        for ((i, j), a) in rows.zip(columns).zip(values) {
            let least = &mut expected[i as usize];
            *least = combine(*least, a + x[j as usize]);
        }
        for (y, expected) in y.iter_mut().zip(&mut expected) {
            // What is not stored is a number, which may not be less.
            if expected.is_nan() && y.is_nan() {
                *y = 1.0;
            }
            *expected = combine(*y, *expected);
        }
        let vector = |values: &[f64]| {
            let at = vec![IndexData::U64((0..values.len() as u64).collect())];
            let values = Values::F64(values.to_vec());
            let entries = Entries::new(vec![values.len()], at, values).unwrap();
            pack(
                &Arc::new(Layout::named_for_rank("dense", 1).unwrap()),
                &entries,
                &PackOptions::default(),
            )
        };
        let (x, y, expected) = (vector(&x), vector(&y), vector(&expected));
        let (x, y, expected) = (x.unwrap(), y.unwrap(), shown(&expected.unwrap()));
        for layout in ["csr", "coo", "ell", "dcsr"] {
            let layout = Arc::new(Layout::named_for_rank(layout, 2).unwrap());
            let options = PackOptions { fill: Some(Value::F64(fill)), ..PackOptions::default() };
            let a = pack(&layout, &entries, &options).unwrap();
            let kernel = Kernel::new(&format!("y[i] {op}= A[i,j] + x[j]"))
                .declared("A", &layout)
                .fill("A", Value::F64(fill));
            let given = [("A", &a), ("x", &x), ("y", &y)];
            let got = kernel.compile().unwrap().run(given).unwrap();
            assert_eq!(shown(&got), expected, "{op} in {}, {dims:?}", layout.name);
        }
    }
}

#[test]
fn what_a_fresh_result_holds_is_known() {
    let inf = Value::F64(f64::INFINITY);
    let kernel = || Kernel::new("y[j] min= A[i,j] + x[i]").only_way().layout("A", "csr");
    let fresh = || kernel().fill("A", inf).fresh("y");
    let text = text(fresh());
    assert!(text.contains("//! `y` has to hold inf everywhere before.\n"), "{text}");
    assert_eq!(text.matches("select_unpredictable(").count(), 1, "{text}");
    // It is updated no more where each element has one update.
    let whole = self::text(Kernel::new("y[i] max= x[i]").only_way().fresh("y"));
    assert_eq!(whole.matches("at(val_y").count(), 0, "{whole}");
    let vector = |n: usize| {
        let at = vec![IndexData::U64((0..n as u64).collect())];
        let entries = Entries::new(vec![n], at, Values::F64(vec![1.0; n])).unwrap();
        let layout = Arc::new(Layout::named_for_rank("dense", 1).unwrap());
        pack(&layout, &entries, &PackOptions::default()).unwrap()
    };
    let points: &[(&[usize], f64)] = &[(&[0, 2], 3.0), (&[1, 0], f64::NAN), (&[1, 2], -1.0)];
    let options = PackOptions { fill: Some(inf), ..PackOptions::default() };
    let csr = Arc::new(Layout::named("csr").unwrap());
    let a = pack(&csr, &Entries::from_points(&[2, 3], points).unwrap(), &options).unwrap();
    let (x, y, compiled) = (vector(2), vector(3), fresh().compile().unwrap());
    let got = compiled.run([("A", &a), ("x", &x)]).unwrap();
    assert_eq!(shown(&got), "inf inf 0.0");
    let refused = compiled.run([("A", &a), ("x", &x), ("y", &y)]).unwrap_err();
    assert_eq!(refused.message, "`y` is given, but the kernel relies on its being inf");
}
