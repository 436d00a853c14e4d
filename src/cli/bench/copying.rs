//! What this machine can do: the rate at which one thread copies memory.

use std::hint::black_box;
use std::time::Instant;

use siskin::tensor::room;

/// Of each of the two arrays: more than caches hold.
const BYTES: usize = 64 << 20;
const RUNS: usize = 5;

/// Bytes that are read and written in a second, by the fastest of some copies (McCalpin, *STREAM*, "copy"); none
/// where there is no room.
pub fn rate() -> Option<f64> {
    room(4 * BYTES as u64, &|| "copying".to_string(), "").ok()?;
    let array = |byte: u8| {
        let mut out = Vec::new();
        out.try_reserve_exact(BYTES).ok()?;
        out.resize(BYTES, byte);
        Some(out)
    };
    let (from, mut to) = (array(1)?, array(0)?);
    let seconds = (0..RUNS).map(|_| {
        let start = Instant::now();
        to.copy_from_slice(black_box(&from));
        black_box(&mut to);
        start.elapsed().as_secs_f64()
    });
    let least = seconds.fold(f64::INFINITY, f64::min);
    (least > 0.0).then(|| 2.0 * BYTES as f64 / least)
}
