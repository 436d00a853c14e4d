use siskin::Kernel;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut k = Kernel::new(&args[1]);
    let mut emit = false;
    let mut order: Vec<String> = vec![];
    for a in &args[2..] {
        if a == "emit" {
            emit = true;
            continue;
        }
        if let Some(o) = a.strip_prefix("order=") {
            order = o.split(',').map(str::to_string).collect();
            continue;
        }
        if let Some(o) = a.strip_prefix("find=") {
            k = k.find(None, o);
            continue;
        }
        if let Some(o) = a.strip_prefix("threads=") {
            k = k.threads(o.parse().unwrap());
            continue;
        }
        if let Some(o) = a.strip_prefix("tile=") {
            let (d, n) = o.split_once('=').unwrap();
            k = k.tile(d, n.parse().unwrap());
            continue;
        }
        if let Some(o) = a.strip_prefix("fuse=") {
            k = k.fuse(&o.split(',').collect::<Vec<_>>());
            continue;
        }
        let (t, l) = a.split_once('=').unwrap();
        k = k.layout(t, l);
    }
    let order: Vec<&str> = order.iter().map(|s| s.as_str()).collect();
    let k = k.order(&order);
    let _ = siskin::synth::templates();
    if std::env::var("WARM").is_ok() {
        for _ in 0..10 {
            let t = std::time::Instant::now();
            let _ = k.plan();
            eprintln!("warm {:?}", t.elapsed());
        }
    }
    let t = std::time::Instant::now();
    let p = match k.plan() {
        Ok(p) => p,
        Err(e) => {
            println!("{e:#?}");
            return;
        }
    };
    let t1 = t.elapsed();
    for s in &p.statements {
        println!("{}", s.space.display(&s.order.dims));
        println!("{}", s.nest);
        println!("assume {}", siskin::formula::conjunction(&s.nest.assumptions));
        let t = std::time::Instant::now();
        let mut z3 = siskin::prover::Z3Prover::new();
        for (n, k) in siskin::iterspace::parallelism(&s.space, &s.order, &mut z3) {
            println!("LOOP {n}: {k}");
        }
        println!("dependence {:?}", t.elapsed());
        for f in &s.finds {
            println!("FIND {} unique={}", f.problem.describe(), f.unique);
            for a in &f.attempts {
                println!("   {:12} {}", a.template.name, a.verdict);
            }
        }
    }
    let t = std::time::Instant::now();
    let m = p.render();
    println!("plan {:?} render {:?}", t1, t.elapsed());
    match m {
        Ok(m) => {
            if emit {
                println!("{}", m.text)
            }
        }
        Err(e) => println!("{e:#?}"),
    }
}
