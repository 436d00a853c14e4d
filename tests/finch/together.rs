//! Programs in formats, as kernels that are planned one by one and compiled together: the stages that
//! `siskin run --program` goes through, in one process.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use indexmap::IndexMap;
use siskin::Kernel;
use siskin::diagnostic::{Code, Diagnostic};
use siskin::files::Loaded;
use siskin::formula::Name;
use siskin::kernel::{Coiterate, is_written_in_place, places};
use siskin::layout::{Layout, LayoutSpec};
use siskin::operators::Value;
use siskin::packing::{PackOptions, convert};
use siskin::program::finch::{Locate, Segment, Statements, Tree};
use siskin::program::{Dense, Program, resolve};
use siskin::prover::Z3Prover;
use siskin::tensor::{DenseArray, Tensor, Values};

use super::Inputs;
use super::compiled::Given;
use super::support::{Bound, Face, Library, Made};

/// A program, the formats of what it is given and of what it returns, and how operands are brought together.
#[derive(Clone, Debug)]
pub struct Case {
    pub text: String,
    pub formats: BTreeMap<String, String>,
    pub scheme: Coiterate,
}

impl Case {
    pub fn new(text: &str, formats: &[(&str, &str)], scheme: Coiterate) -> Case {
        let own = |(name, format): &(&str, &str)| (name.to_string(), format.to_string());
        Case { text: text.into(), formats: formats.iter().map(own).collect(), scheme }
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, format) in &self.formats {
            write!(f, "{name}: {format}  ")?;
        }
        write!(f, "--coiterate {}\n{}", self.scheme.word(), self.text)?;
        // Declarations that were made up are gone when this is read.
        for format in self.formats.values() {
            if let Ok(text) = std::fs::read_to_string(format) {
                write!(f, "\n# {format}\n{text}")?;
            }
        }
        Ok(())
    }
}

/// Kernels, each once.
pub struct Batch {
    made: Vec<Made>,
    known: HashMap<String, Result<usize, Box<Diagnostic>>>,
    /// Kernels have many of their questions in common.
    prover: Z3Prover,
}

impl Default for Batch {
    fn default() -> Self {
        let prover = Z3Prover::new().with_any_model();
        Batch { made: Vec::new(), known: HashMap::new(), prover }
    }
}

/// A case with data, and its kernels.
pub struct Ready<'a> {
    case: &'a Case,
    inputs: &'a Inputs,
    tree: Tree,
    made: Statements,
    steps: Vec<Step>,
}

enum Step {
    /// Statements of one kernel.
    Kernel {
        number: usize,
        program: Box<Program>,
        extents: IndexMap<Name, usize>,
    },
    Locate(Locate),
}

/// Why a case did not run.
pub enum Stopped {
    /// There is no kernel for it, or no place for the data.
    Refused(Box<Diagnostic>),
    /// Something is wrong.
    Failed(String),
}

impl From<Box<Diagnostic>> for Stopped {
    fn from(e: Box<Diagnostic>) -> Stopped {
        match e.code {
            Code::Internal => Stopped::Failed(format!("{e:#?}")),
            _ => Stopped::Refused(e),
        }
    }
}

impl From<String> for Stopped {
    fn from(e: String) -> Stopped {
        Stopped::Failed(e)
    }
}

/// The layouts of the tensors of some statements.
type Layouts = IndexMap<Name, Result<String, Arc<Layout>>>;

impl Batch {
    /// All kernels as one library.
    pub fn compiled(&self) -> Result<Option<Library>, String> {
        let some = (!self.made.is_empty()).then(|| Library::compile(&self.made, Face::Entry));
        some.transpose()
    }

    /// Plans what a case needs for these inputs.
    pub fn ready<'a>(&mut self, case: &'a Case, inputs: &'a Inputs) -> Result<Ready<'a>, Stopped> {
        let mut inputs_of_formats = inputs.host();
        let parsed = siskin::program::finch::Finch::parse(&case.text, "made.finch")?;
        let ranks = parsed.tensors();
        for (name, format) in &case.formats {
            let spec = LayoutSpec::parse(format)?;
            let name = Name::from(name.as_str());
            if let Some(fill) = spec.fill() {
                inputs_of_formats.types.insert(name.clone(), Value::from(fill).value_type());
            }
            if let Some(&rank) = ranks.get(&name)
                && !is_written_in_place(&spec.instantiate(rank)?)
            {
                inputs_of_formats.searched.push(name);
            }
        }
        let tree = parsed.lower(&inputs_of_formats)?;
        let made = tree.statements()?;
        let mut steps = Vec::new();
        let mut done = 0;
        for (k, segment) in made.segments.iter().enumerate() {
            let united = made.united.iter().find(|(range, _)| range.start == k);
            if let Some((range, whole)) = united.filter(|_| done <= k)
                && let Some(step) = self.united(case, &tree, &made, whole)?
            {
                steps.push(step);
                steps.extend(whole.locates.iter().cloned().map(Step::Locate));
                done = range.end;
            }
            if done <= k {
                self.segment(case, &tree, &made, segment, &mut steps)?;
                steps.extend(segment.locates.iter().cloned().map(Step::Locate));
            }
        }
        Ok(Ready { case, inputs, tree, made, steps })
    }

    /// The kernel of several results, if there is one that is taken.
    fn united(
        &mut self,
        case: &Case,
        tree: &Tree,
        made: &Statements,
        whole: &Segment,
    ) -> Result<Option<Step>, Stopped> {
        let program = Program::parse(&whole.text)?;
        let layouts = layouts(case, tree, made, &program);
        match self.kernel(case, &whole.text, &layouts, made) {
            Ok(number) if self.made[number].planned.results_share_loops() => {
                let extents = whole.extents.clone();
                Ok(Some(Step::Kernel { number, program: Box::new(program), extents }))
            }
            Err(e) if e.code == Code::Internal => Err(e.into()),
            _ => Ok(None),
        }
    }

    fn segment(
        &mut self,
        case: &Case,
        tree: &Tree,
        made: &Statements,
        segment: &Segment,
        steps: &mut Vec<Step>,
    ) -> Result<(), Stopped> {
        let whole = Program::parse(&segment.text)?;
        let output = whole.output()?.tensor.clone();
        let temporaries = whole.temporaries();
        let assignments = whole.assignments()?;
        let mut others = assignments.iter().map(|a| &a.output.tensor).filter(|o| **o != output);
        let alone = !temporaries.contains(&output)
            && others.all(|o| temporaries.contains(o) && !segment.kept.contains(o));
        let texts: Vec<&str> = segment.text.split("; ").collect();
        if alone || texts.len() == 1 {
            let layouts = layouts(case, tree, made, &whole);
            match self.kernel(case, &segment.text, &layouts, made) {
                Ok(number) => {
                    let extents = segment.extents.clone();
                    steps.push(Step::Kernel { number, program: Box::new(whole), extents });
                    return Ok(());
                }
                Err(e) if texts.len() == 1 || e.code == Code::Internal => return Err(e.into()),
                Err(_) => {}
            }
        }
        for text in texts {
            let program = Program::parse(text)?;
            let layouts = layouts(case, tree, made, &program);
            let number = self.kernel(case, text, &layouts, made)?;
            let indices = program.indices();
            let own = segment.extents.iter().filter(|(i, _)| indices.contains(*i));
            let extents = own.map(|(i, n)| (i.clone(), *n)).collect();
            steps.push(Step::Kernel { number, program: Box::new(program), extents });
        }
        Ok(())
    }

    fn kernel(
        &mut self,
        case: &Case,
        text: &str,
        layouts: &Layouts,
        made: &Statements,
    ) -> Result<usize, Box<Diagnostic>> {
        let used = Program::parse(text)?.tensors();
        let types = used.keys().filter_map(|name| Some((name, *made.types.get(name)?)));
        let shown: Vec<String> = layouts
            .iter()
            .map(|(name, layout)| match layout {
                Ok(text) => format!("{name}={text}"),
                Err(layout) => format!("{name}={}", layout.name),
            })
            .collect();
        let typed: Vec<String> = types.clone().map(|(name, ty)| format!("{name}:{ty}")).collect();
        let label =
            format!("{text} {} {} {}", shown.join(" "), typed.join(" "), case.scheme.word());
        if let Some(known) = self.known.get(&label) {
            return known.clone();
        }
        let mut kernel = Kernel::new(text).coiterate(case.scheme);
        // Programs run on data, for which there is one way; kernels of several take their time to compile.
        if !self.known.len().is_multiple_of(8) {
            kernel = kernel.only_way();
        }
        for (name, layout) in layouts {
            kernel = match layout {
                Ok(text) => kernel.layout(name, text),
                Err(layout) => kernel.declared(name, layout),
            };
        }
        for (name, ty) in types {
            kernel = kernel.typed(name, ty);
        }
        let planned = kernel.plan_with(&mut self.prover);
        let planned =
            planned.and_then(|planned| Ok((planned.render_with(&mut self.prover)?, planned)));
        let number = planned.map(|(module, planned)| {
            self.made.push(Made::of(label.clone(), &module, planned));
            self.made.len() - 1
        });
        self.known.insert(label, number.clone());
        number
    }

    /// [`Batch::ready`] and [`Batch::agrees`], without a library.
    pub fn agrees_interpreted(&mut self, case: &Case, inputs: &Inputs) -> Result<(), Stopped> {
        let ready = self.ready(case, inputs)?;
        self.agrees(&ready, None)
    }

    /// That a case computes what the interpreter of programs does, by the interpreter of code and, if there is
    /// a library, compiled.
    pub fn agrees(&self, ready: &Ready<'_>, library: Option<&Library>) -> Result<(), Stopped> {
        let expected = ready.tree.interpret(&ready.inputs.tensors)?;
        for library in [None, library].into_iter().take(1 + usize::from(library.is_some())) {
            let found = self.run(ready, library)?;
            for ((name, parts), own) in expected.iter().zip(&ready.made.returned) {
                for (part, own) in parts.iter().zip(own) {
                    let found = &found[own];
                    if !same(&found.values, &part.values) {
                        let how = if library.is_some() { "compiled" } else { "interpreted" };
                        let wrong = format!(
                            "{}\n{how}, `{name}` is\n{:?}, not\n{:?}\n{:?}",
                            ready.case, found.values, part.values, ready.inputs.tensors
                        );
                        return Err(Stopped::Failed(wrong));
                    }
                }
            }
        }
        Ok(())
    }

    fn run(
        &self,
        ready: &Ready<'_>,
        library: Option<&Library>,
    ) -> Result<IndexMap<Name, Dense>, Stopped> {
        let mut known: IndexMap<Name, Dense> = IndexMap::new();
        for (own, host) in &ready.tree.given {
            known.insert(own.clone(), ready.inputs.tensors[host].clone());
        }
        let mut located: IndexMap<Name, Tensor> = IndexMap::new();
        for step in &ready.steps {
            match step {
                Step::Locate(locate) => {
                    let from = &known[&locate.from];
                    let array = DenseArray::new(from.dims.clone(), from.values.clone())?;
                    located.insert(locate.tensor.clone(), places(locate, &array)?);
                }
                Step::Kernel { number, program, extents } => {
                    let made = &self.made[*number];
                    let output = program.output()?.tensor.clone();
                    let used = program.tensors();
                    let mut dims: IndexMap<Name, Vec<usize>> = IndexMap::new();
                    let mut tensors = IndexMap::new();
                    for name in used.keys() {
                        if let Some(tensor) = located.get(name) {
                            dims.insert(name.clone(), tensor.dims().to_vec());
                            tensors.insert(name.clone(), tensor.clone());
                        } else if let Some(dense) = known.get(name) {
                            dims.insert(name.clone(), dense.dims.clone());
                            if *name != output {
                                let layout = &made.planned.layouts()[name];
                                let fill = made.planned.fill_of(name)?;
                                tensors.insert(name.clone(), packed(dense, layout, fill)?);
                            }
                        }
                    }
                    let mut extents = extents.clone();
                    if let Some(place) = made.planned.place() {
                        extents.insert(place.clone(), 1);
                        dims.shift_remove(&output);
                    }
                    let extents = resolve(made.planned.program(), &dims, &extents)?;
                    let mut bound = Bound::new(made, &tensors, &extents)?;
                    if let Some(before) = known.get(&output) {
                        bound = bound.beginning(&before.values)?;
                    }
                    // The tensors are valid.
                    let results = match library {
                        None => bound.results_of_code(1),
                        Some(library) => unsafe { bound.results(*number, library, 1) },
                    };
                    let case = ready.case;
                    let mut results =
                        results.map_err(|e| format!("{case}\n{}: {e}", made.label))?;
                    let result = results.swap_remove(&output).ok_or("no result".to_string())?;
                    for (name, other) in results {
                        let (dims, values) =
                            (other.dims().to_vec(), bound.elements_of(&name, &other)?);
                        known.insert(name, Dense { dims, values });
                    }
                    let fill = made.planned.result_fill();
                    let own = &made.planned.layouts()[&output];
                    let wanted = made.planned.packed_as().unwrap_or(own);
                    let options = PackOptions { fill: Some(fill), ..PackOptions::default() };
                    let result =
                        match result.layout().same_as(wanted) || made.planned.place().is_some() {
                            true => result,
                            false => convert(&result, wanted, &options)?,
                        };
                    let dims = match made.planned.place() {
                        Some(_) => Vec::new(),
                        None => result.dims().to_vec(),
                    };
                    let values = bound.elements(&result)?;
                    known.insert(output, Dense { dims, values });
                }
            }
        }
        Ok(known)
    }
}

/// Elements in a layout, valid.
fn packed(dense: &Dense, layout: &Arc<Layout>, fill: Value) -> Result<Tensor, Stopped> {
    let array = DenseArray::new(dense.dims.clone(), dense.values.clone())?;
    let options = PackOptions { fill: Some(fill), ..PackOptions::default() };
    let mut tensor = Loaded::Dense(array).pack_with(layout, &options)?;
    tensor.validate().map_err(|e| format!("{}: {e:#?}", layout.name))?;
    Ok(tensor)
}

/// The layouts of what statements use, as the command line gives them.
fn layouts(case: &Case, tree: &Tree, made: &Statements, program: &Program) -> Layouts {
    let mut out = IndexMap::new();
    let writes = |name: &Name| {
        let texts = made.segments.iter().flat_map(|s| s.text.split("; "));
        texts.filter(|t| t.starts_with(&format!("{name}["))).count()
    };
    for (own, host) in &tree.given {
        if let Some(format) = case.formats.get(&**host)
            && program.tensors().contains_key(own)
        {
            out.insert(own.clone(), Ok(format.clone()));
        }
    }
    for (returned, own) in tree.returned.iter().zip(&made.returned) {
        if let ([own], Some(format)) = (&own[..], case.formats.get(&*returned.name))
            && program.output().is_ok_and(|o| o.tensor == *own)
            && !tree.given.contains_key(own)
            && writes(own) == 1
        {
            out.insert(own.clone(), Ok(format.clone()));
        }
    }
    for locate in made.segments.iter().flat_map(|s| &s.locates) {
        if program.tensors().contains_key(&locate.tensor) {
            // Which layout it has is known by its rank.
            let rank = program.tensors()[&locate.tensor] - 1;
            let array = DenseArray::new(
                vec![0; rank.max(1)][..rank].to_vec(),
                Values::I64(vec![i64::MAX - 1; usize::from(rank == 0)]),
            );
            let layout = array.and_then(|array| places(locate, &array)).map(|t| t.layout().clone());
            out.insert(locate.tensor.clone(), Err(layout.expect("places have a layout")));
        }
    }
    out
}

/// Equal elements, NaN included.
fn same(a: &Values, b: &Values) -> bool {
    let number = |v: &Values, k: usize| match v {
        Values::I64(v) => Value::I64(v[k]),
        v => Value::F64(v.get_f64(k)),
    };
    a.value_type() == b.value_type()
        && a.len() == b.len()
        && (0..a.len()).all(|k| number(a, k).same(number(b, k)) || a.get_f64(k) == b.get_f64(k))
}

impl Ready<'_> {
    pub fn case(&self) -> &Case {
        self.case
    }

    /// That the command line computes the same.
    pub fn agrees_by_command(&self) -> Result<(), Stopped> {
        let given = self.given(&|_, format| format.to_string());
        match given.run() {
            Err(e) if e.contains("cannot be stored in this layout") => {
                let wider = self.given(&|name, format| {
                    let returned = self.tree.returned.iter().find(|r| *r.name == *name);
                    holding_any(format, returned.map_or(1, |r| r.dims.len()))
                });
                wider.agrees(self.inputs, &self.case.text);
                // It stores what was assigned, though it be the fill: more than a level may hold.
                let expected = self.tree.interpret(&self.inputs.tensors)?;
                let too_many = expected.iter().any(|(name, parts)| {
                    let format = &self.case.formats[&**name];
                    parts.iter().any(|part| !holds(format, &part.dims, &part.values, None))
                });
                assert!(too_many || wider.stores_fill(), "{}\n{e}", self.case);
            }
            _ => given.agrees(self.inputs, &self.case.text),
        }
        Ok(())
    }

    /// What the command line is given, results in another format.
    fn given(&self, result_format: &dyn Fn(&str, &str) -> String) -> Given {
        let formats = &self.case.formats;
        let name = |k: usize| self.inputs.tensors.get_index(k).map(|(name, _)| name);
        let format = |k: usize, _: usize| formats.get(&**name(k)?).cloned();
        let mut given = Given::new(self.inputs, &self.case.text, &format);
        for (result, format) in formats {
            if !self.inputs.tensors.contains_key(result.as_str()) {
                given.result(result, &result_format(result, format));
            }
        }
        given.option("--coiterate", self.case.scheme.word());
        given
    }
}

/// Whether a format has a place for elements; `fill` is what it does not store, if that is not its own.
pub fn holds(format: &str, dims: &[usize], values: &Values, fill: Option<Value>) -> bool {
    let Ok(layout) = Layout::named_for_rank(format, dims.len()) else { return false };
    let array = DenseArray::new(dims.to_vec(), values.clone()).expect("an array");
    let options = PackOptions { fill, ..PackOptions::default() };
    let packed = Loaded::Dense(array).pack_with(&layout.into(), &options);
    packed.is_ok_and(|mut tensor| tensor.validate().is_ok() && tensor.dense().is_ok())
}

/// A format with the leaf of another, that holds whatever is put in it.
fn holding_any(format: &str, rank: usize) -> String {
    let begin = ["AtomicElement(", "Element("].iter().find_map(|leaf| format.find(leaf));
    let begin = begin.expect("a format of levels");
    let around = format[..begin].matches('(').count();
    format!("SparseCOO{{{rank}}}({})", &format[begin..format.len() - around])
}

/// A panic is a failure.
pub fn caught<T>(f: impl FnOnce() -> Result<T, Stopped>) -> Result<T, Stopped> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().cloned();
        let said = said.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        Err(Stopped::Failed(format!("panicked: {}", said.unwrap_or_default())))
    })
}
