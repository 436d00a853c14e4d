//! Index arithmetic never wraps: where sizes are too large for it, a kernel refuses to run.

use indexmap::IndexMap;
use siskin::Kernel;
use siskin::diagnostic::Code;
use siskin::formula::Name;

/// The largest size that the kernel of an expression takes.
fn limit(expression: &str) -> u64 {
    let planned = Kernel::new(expression).index(siskin::code::IndexWidth::U64).plan().unwrap();
    planned.render().unwrap().size_limit()
}

#[test]
fn the_larger_the_factors_of_a_subscript_the_smaller_the_sizes_may_be() {
    let (one, four) = (limit("y[] += x[i] * z[i]"), limit("y[] += x[4*i] * z[i]"));
    assert!(four <= i64::MAX as u64 / 4, "{four}");
    assert!(one > 3 * four, "{one} {four}");
    assert!(limit("y[] += x[1000*i + 1000*j]") < i64::MAX as u64 / 1000);
}

#[test]
fn a_size_beyond_the_limit_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.mtx");
    std::fs::write(&path, "%%MatrixMarket matrix coordinate real general\n4 1 1\n4 1 2.0\n")
        .unwrap();
    let x = siskin::Tensor::read(&path).unwrap();
    let x = x.pack(&siskin::Layout::named("sparse").unwrap()).unwrap();
    let kernel = Kernel::new("s[] += x[4*i] * x[j]")
        .layout("x", "sparse")
        .index(siskin::code::IndexWidth::U64)
        .compile()
        .unwrap();
    let extents: IndexMap<Name, usize> =
        [(Name::from("i"), 9_000_000_000_000_000_000)].into_iter().collect();
    let refused = kernel.call([("x", &x)], &extents);
    let error = refused.err().expect("too large");
    assert_eq!(error.code, Code::Shape, "{error:?}");
    assert!(error.help.is_some());
}

#[test]
fn the_module_tests_its_sizes_before_it_runs() {
    let planned = Kernel::new("y[] += x[4*i] * z[i]").plan().unwrap();
    let module = planned.render().unwrap();
    assert!(module.text().contains(&format!("size as u64 > {}", module.size_limit())));
}

/// Elements of 64 bits that nothing bounds: twice such a number may be no number.
#[test]
fn a_kernel_that_no_size_is_small_enough_for_is_refused() {
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    let layout = r#"
        name = "list"
        dims = ["i"]
        relation = "{ [p] -> [i] : 0 <= p < NNZ and i = crd(p) and 0 <= i < I }"
        value = "val(p)"
        [index.crd]
        domain = "0 <= p < NNZ"
        [params]
        NNZ = "count"
    "#;
    std::fs::write(file.path(), layout).unwrap();
    let kernel = Kernel::new("y[] += x[2*i] * z[i]").layout("x", file.path().to_str().unwrap());
    let render = |width| kernel.clone().index(width).plan().unwrap().render();
    assert!(render(siskin::code::IndexWidth::U32).is_ok());
    let error = render(siskin::code::IndexWidth::U64).expect_err("refused");
    assert_eq!(error.code, Code::Space);
    assert!(error.notes[0].contains("`crd_x`"), "{error:?}");
}
