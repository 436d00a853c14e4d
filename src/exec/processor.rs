//! Which processor this is.

use std::fs;

/// The model of the processor, as the system calls it; where it does not say, the architecture.
pub fn processor_model() -> String {
    let about = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = about.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "model name").then(|| value.trim().to_string())
    });
    // ARM systems have numbers in place of a name.
    let parts = || {
        let wanted = ["CPU implementer", "CPU part"];
        let values = about.lines().filter_map(|line| {
            let (key, value) = line.split_once(':')?;
            wanted.contains(&key.trim()).then(|| value.trim().to_string())
        });
        let first: Vec<String> = values.take(wanted.len()).collect();
        format!("{} {}", std::env::consts::ARCH, first.join(" ")).trim().to_string()
    };
    model.filter(|model| !model.is_empty()).unwrap_or_else(parts)
}
