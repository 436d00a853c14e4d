//! `siskin convert`: from one file format or layout to another.

use std::sync::Arc;

use clap::Args;
use serde_json::json;
use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::files::{self, Loaded};
use siskin::layout::Layout;
use siskin::tensor::Tensor;

use super::options::numbers_of;
use super::output::Output;
use super::tensor_argument::FileArgument;
use super::{data, run};

/// Convert a tensor file, through layouts if given; refuses to lose entries or precision
#[derive(Args)]
#[command(after_help = include_str!("examples/convert.txt"))]
pub struct Convert {
    /// The file to read, and the layout its entries must fit
    #[arg(value_name = "IN[:LAYOUT]")]
    input: String,
    /// The file to write, and the layout whose order and padding it gets
    #[arg(value_name = "OUT[:LAYOUT]")]
    output: String,
    /// Extents of the tensor, for files that do not hold them
    #[arg(long, value_name = "N,…")]
    dims: Option<String>,
    /// Convert the values; refused if one of them changes
    #[arg(long = "type", value_name = "f64|f32|i64|i32|bool")]
    value_type: Option<String>,
    /// Print one JSON object on stdout
    #[arg(long)]
    json: bool,
}

impl Convert {
    pub fn execute(&self) -> Output {
        let from = FileArgument::parse(&self.input)?;
        let to = FileArgument::parse(&self.output)?;
        files::check_writable(&to.path, None)?;
        let dims = match &self.dims {
            Some(text) => Some(numbers_of(text, 0, text)?),
            None => None,
        };
        let value_type = self.value_type.as_deref().map(str::parse).transpose()?;
        let mut loaded = data::load(&from.path, dims, value_type)?;
        let mut shown = None;
        for layout in [&from.layout, &to.layout].into_iter().flatten() {
            let packed = packed(loaded, layout)?;
            shown = Some((packed.layout().name.clone(), run::shape(&packed)));
            loaded = data::into_file(packed)?;
        }
        files::write(&to.path, &loaded)?;
        let layout = shown.as_ref().map(|(name, _)| name);
        if self.json {
            return Ok(json!({
                "input": self.input,
                "output": to.path,
                "layout": layout,
                "dims": loaded.dims(),
                "stored": loaded.stored(),
                "type": loaded.value_type().as_str(),
            })
            .to_string());
        }
        let what = match &shown {
            Some((_, shape)) => shape.clone(),
            None => {
                let dims: Vec<String> = loaded.dims().iter().map(ToString::to_string).collect();
                format!("{}, {} stored", dims.join(" × "), loaded.stored())
            }
        };
        Ok(format!("{}: {what}\n", to.path.display()))
    }
}

/// The data in a layout; packing refuses entries that have no place in it.
fn packed(loaded: Loaded, layout: &str) -> Result<Tensor> {
    let spec = siskin::layout::LayoutSpec::parse(layout)?;
    let rank = spec.rank().unwrap_or(loaded.dims().len());
    let found = loaded.dims().len();
    let loaded = data::with_rank(loaded, rank).map_err(|_| {
        Diagnostic::new(
            Code::Shape,
            format!("layout `{layout}` has rank {rank}, the tensor has rank {found}"),
        )
        .help("choose a layout of the tensor's rank; `siskin layouts` lists them")
    })?;
    let layout: Arc<Layout> = Arc::new(spec.instantiate(rank)?);
    data::pack(&layout, loaded, None)
}
