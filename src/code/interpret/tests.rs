//! The interpreter on small bodies.

use super::*;
use crate::code::ir::*;
use crate::tensor::{IndexData, ValueType, Values};

/// `for p in 0..N { val_y[0] += val_x[crd[p]] }` over arrays of the lengths that the code is given.
struct Sample {
    body: Body,
    n: VarId,
    p: VarId,
    crd: ArrayId,
    x: ArrayId,
    y: ArrayId,
}

fn sample(ty: ValueType, signed: bool) -> Sample {
    let mut body = Body::default();
    let n = body.variable("N", Type::Unsigned);
    let k = body.variable("K", Type::Unsigned);
    body.sizes = vec![n, k];
    let element = Element::Index { signed, width: IndexWidth::U32 };
    let array = |name: &str, element, origin, shape| Array {
        name: Name::from(name),
        element,
        origin,
        shape,
        args: Vec::new(),
        domain: Vec::new(),
        range: Vec::new(),
    };
    let crd = body.array(array("crd", element, Origin::Input, vec![Expr::Var(n)]));
    let x = body.array(array("val_x", Element::Value(ty), Origin::Input, vec![Expr::Var(k)]));
    let y = body.array(array("val_y", Element::Value(ty), Origin::Output, Vec::new()));
    let p = body.variable("p", Type::Unsigned);
    Sample { body, n, p, crd, x, y }
}

impl Sample {
    fn column(&self) -> Expr {
        Expr::load(self.crd, vec![Expr::Var(self.p)])
    }

    fn add(&self, value: Expr) -> Stmt {
        let place = Load { array: self.y, subscripts: vec![Expr::int(0)], access: Access::Checked };
        Stmt::Store { place, op: Assign::Add, value }
    }

    fn each(&self, body: Block) -> Stmt {
        Stmt::For { var: self.p, lo: Expr::int(0), hi: Expr::Var(self.n), body }
    }

    fn run(&self, n: usize, crd: IndexData, x: Values) -> Result<Values, Fault> {
        let mut given = Arguments { threads: 1, ..Arguments::default() };
        given.sizes.insert("N".into(), n);
        given.sizes.insert("K".into(), x.len());
        given.indices.insert("crd".into(), &crd);
        let y = Values::zeros(x.value_type(), 1);
        given.values.insert("val_x".into(), &x);
        given.values.insert("val_y".into(), &y);
        let mut out = Interpreter::new(&self.body).run(&given, 10_000)?;
        Ok(out.swap_remove("val_y").expect("the output"))
    }

    fn reason(&self, crd: Vec<u32>) -> Reason {
        let n = crd.len();
        self.run(n, crd.into(), vec![1.0, 2.0].into()).expect_err("a fault").reason
    }
}

fn gathered() -> Sample {
    let mut s = sample(ValueType::F64, false);
    let value = Expr::load(s.x, vec![s.column()]);
    s.body.block = vec![s.each(vec![s.add(value)])];
    s.body.verify().unwrap();
    s
}

#[test]
fn a_gather_adds_what_it_reads() {
    let got = gathered().run(3, vec![1_u32, 0, 1].into(), vec![1.0, 2.0].into());
    assert_eq!(got, Ok(vec![5.0].into()));
}

#[test]
fn an_access_outside_its_array_names_the_statement_and_the_array() {
    let fault = gathered().run(2, vec![1_u32, 2].into(), vec![1.0, 2.0].into()).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "`val_x[crd[p] as usize]` at 2 is outside the array, which has 2 elements, \
         in `val_y[0] += val_x[crd[p] as usize]`"
    );
    // The array is shorter than the size that the code is given.
    let fault = gathered().run(2, vec![1_u32].into(), vec![1.0, 2.0].into()).unwrap_err();
    assert!(matches!(fault.reason, Reason::OutOfBounds { len: 1, .. }), "{fault}");
}

#[test]
fn arithmetic_of_usize_does_not_wrap() {
    let mut s = sample(ValueType::F64, false);
    let v = s.body.variable("v", Type::Unsigned);
    let mut faults = Vec::new();
    for value in [
        Expr::binary(BinaryOp::Sub, s.column(), Expr::int(2)),
        Expr::binary(BinaryOp::Add, Expr::Unset, s.column()),
        Expr::binary(BinaryOp::Mul, Expr::Unset, s.column().add(Expr::int(1))),
        Expr::binary(BinaryOp::Div, Expr::int(1), s.column().sub(Expr::int(1))),
    ] {
        s.body.block = vec![s.each(vec![Stmt::Let { var: v, mutable: false, value }])];
        faults.push(s.reason(vec![1]));
    }
    assert_eq!(faults[0], Reason::BelowZero("crd[p] as usize - 2".into()));
    assert!(faults[1..].iter().all(|f| matches!(f, Reason::Overflow(_))), "{faults:?}");
}

#[test]
fn a_negative_number_is_no_usize() {
    let mut s = sample(ValueType::I32, true);
    let value = Expr::load(s.x, vec![s.column().converted(false)]);
    s.body.block = vec![s.each(vec![s.add(value)])];
    s.body.verify().unwrap();
    let good = s.run(1, vec![0_i32].into(), vec![7_i32].into());
    assert_eq!(good, Ok(vec![7_i32].into()));
    let fault = s.run(1, vec![-1_i32].into(), vec![7_i32].into()).unwrap_err();
    assert!(matches!(fault.reason, Reason::Conversion { value: -1, .. }), "{fault}");
}

#[test]
fn what_no_statement_has_set_is_not_read() {
    let mut s = sample(ValueType::F64, false);
    let v = s.body.variable("v", Type::Unsigned);
    let bind = Stmt::Let { var: v, mutable: false, value: Expr::int(0) };
    let read = s.add(Expr::load(s.x, vec![Expr::Var(v)]));
    // Bound in the first turn, out of sight in the second.
    let first = Stmt::If {
        condition: Expr::binary(BinaryOp::Eq, Expr::Var(s.p), Expr::int(0)),
        then: vec![bind],
        otherwise: vec![read],
    };
    s.body.block = vec![s.each(vec![first])];
    assert_eq!(s.reason(vec![0, 0]), Reason::Unset("v".into()));
}

#[test]
fn a_loop_without_end_runs_out_of_fuel() {
    let mut s = sample(ValueType::F64, false);
    let forever =
        Stmt::While { condition: Expr::Bool(true), invariants: Vec::new(), body: Vec::new() };
    s.body.block = vec![forever];
    assert_eq!(s.reason(vec![]), Reason::Fuel);
}

#[test]
fn invariants_and_facts_are_tested() {
    let mut s = sample(ValueType::F64, false);
    let wrong = Expr::binary(BinaryOp::Lt, Expr::int(1), Expr::int(1));
    let turn =
        Stmt::While { condition: Expr::Bool(false), invariants: vec![wrong], body: Vec::new() };
    s.body.block = vec![turn];
    assert_eq!(s.reason(vec![]), Reason::Invariant("1 < 1".into()));

    use crate::formula::{Affine, Constraint};
    let crd = Affine::call("crd", vec![Affine::var("p")]);
    let facts = vec![Constraint::le(crd, Affine::constant(1))];
    let inside = s.add(Expr::load(s.x, vec![s.column()]));
    s.body.block = vec![s.each(vec![Stmt::Given { facts, body: vec![inside] }])];
    assert!(matches!(s.reason(vec![1, 2]), Reason::Fact(_)));
}

/// The sum of all numbers, in chains.
fn summed(x: &[f64], chains: Chains) -> Values {
    let mut s = sample(ValueType::F64, false);
    let sum = Sum {
        op: BinaryOp::Add,
        var: s.p,
        lo: Expr::int(0),
        hi: Expr::Var(s.n),
        lets: Vec::new(),
        term: Expr::load(s.x, vec![Expr::Var(s.p)]),
        ty: ValueType::F64,
        chains,
    };
    s.body.block = vec![s.add(Expr::Sum(Box::new(sum)))];
    s.body.verify().unwrap();
    s.run(x.len(), vec![0_u32; x.len()].into(), x.to_vec().into()).unwrap()
}

#[test]
fn a_long_sum_adds_in_eight_chains_and_the_rest_in_four() {
    let x: Vec<f64> = (0..75).map(|k| f64::from(k * 37 % 23) * 1e15 + f64::from(k)).collect();
    let chain = |k: usize| x[..72].iter().skip(k).step_by(8).sum::<f64>();
    let ends = ((chain(0) + chain(4)) + (chain(1) + chain(5)))
        + ((chain(2) + chain(6)) + (chain(3) + chain(7)));
    let expected = ends + (((0.0 + x[72]) + (0.0 + x[73])) + ((0.0 + x[74]) + 0.0));
    assert_eq!(summed(&x, Chains::Eight), vec![0.0 + expected].into());
    assert_ne!(expected, x.iter().sum::<f64>());
}

#[test]
fn a_sum_adds_in_two_chains_or_four() {
    let x: Vec<f64> = vec![1e17, 1.0, -1e17, 1.0, 3.0, 1.0, 5.0];
    // `(s0 + s1) + (s2 + s3)`, two of the rest on s0 and s1, the last on s2.
    let four = ((x[0] + x[4]) + (x[1] + x[5])) + ((x[2] + x[6]) + x[3]);
    let two = (((x[0] + x[2]) + x[4]) + x[6]) + ((x[1] + x[3]) + x[5]);
    for (chains, expected) in [(Chains::Four, four), (Chains::Two, two), (Chains::ByLength, two)] {
        assert_eq!(summed(&x, chains), vec![0.0 + expected].into());
    }
    let several: Vec<f64> = x.iter().cycle().take(SEVERAL).copied().collect();
    assert_eq!(summed(&several, Chains::ByLength), summed(&several, Chains::Four));
    assert_ne!(summed(&several, Chains::ByLength), summed(&several, Chains::Two));
    assert_ne!(four, x.iter().sum::<f64>());
    assert_ne!(four, two);
}

#[test]
fn two_chunks_may_not_touch_one_element_unless_each_thread_has_a_copy() {
    for private in [false, true] {
        let mut s = sample(ValueType::I64, false);
        let threads = s.body.variable("threads", Type::Unsigned);
        s.body.threads = Some(threads);
        let (start, end) =
            (s.body.variable("start", Type::Unsigned), s.body.variable("end", Type::Unsigned));
        let value = Expr::load(s.x, vec![Expr::int(0)]);
        let turn = Stmt::For {
            var: s.p,
            lo: Expr::Var(start),
            hi: Expr::Var(end),
            body: vec![s.add(value)],
        };
        s.body.block = vec![Stmt::Parallel(Box::new(Parallel {
            start,
            end,
            lo: Expr::int(0),
            hi: Expr::Var(s.n),
            writes: if private { Writes::Copies(s.y) } else { Writes::Shared(s.y) },
            setup: Vec::new(),
            body: vec![turn],
        }))];
        s.body.verify().unwrap();
        let (crd, x, y) = (vec![0_u32; 5].into(), vec![3_i64].into(), vec![100_i64].into());
        let mut given = Arguments { threads: 3, ..Arguments::default() };
        given.sizes.extend([("N".into(), 5), ("K".into(), 1)]);
        given.indices.insert("crd".into(), &crd);
        given.values.extend([("val_x".into(), &x), ("val_y".into(), &y)]);
        match (private, Interpreter::new(&s.body).run(&given, 1_000)) {
            (true, Ok(out)) => assert_eq!(out["val_y"], vec![115_i64].into()),
            (false, Err(fault)) => assert!(matches!(fault.reason, Reason::Race { .. }), "{fault}"),
            (_, other) => panic!("{other:?}"),
        }
    }
}
