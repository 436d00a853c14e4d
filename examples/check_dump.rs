fn main() {
    for arg in std::env::args().skip(1) {
        let (name, rank) =
            arg.split_once(':').map_or((arg.as_str(), None), |(n, r)| (n, r.parse().ok()));
        let spec = siskin::layout::LayoutSpec::parse(name).unwrap_or_else(|e| panic!("{e:#?}"));
        let layout = spec
            .instantiate(spec.rank().or(rank).unwrap_or(2))
            .unwrap_or_else(|e| panic!("{e:#?}"));
        let t = std::time::Instant::now();
        let refuse = siskin::check::refuse_contradiction(&layout);
        let t1 = t.elapsed();
        let t = std::time::Instant::now();
        let _ = siskin::check::refuse_contradiction(&layout);
        let t2 = t.elapsed();
        let t = std::time::Instant::now();
        let report = siskin::check::check(&layout).unwrap();
        println!("{report}   [refuse {t1:?}, again {t2:?}, check {:?}]", t.elapsed());
        if let Err(e) = refuse {
            println!("{e:#?}");
        }
        println!();
    }
}
