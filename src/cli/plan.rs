//! `seen plan`: what a filter and a store will take, before there is one.

use super::OK;
use super::columns::Columns;
use super::failure::Failure;
use super::footprint::Footprint;
use super::json::Object;
use super::merges;
use super::output::print;
use super::units::{bytes, count, parse_count, parse_rate, parse_size, percent};
use crate::filter::FilterKind;
use crate::filter::sizing::{Sizing, capacity};
use crate::options::{DEFAULT_RATE, MAX_RATE, MIN_RATE};
use serde_json::Value;

const HELP: &str = "\
Examples:
  seen plan --urls 100M                      at 1 %, the rate of a store that nobody tuned
  seen plan --urls 50M,1B --fpr 1%,0.1%      a column for each
  seen plan --urls 1B --memory 1GiB          which rate is that?
  seen plan --fpr 0.1% --memory 1GiB         for how many URLs is that?
  seen plan --urls 1B --filter fuse          a store with the smallest filters
  seen plan --merges                         what merging costs while a store grows
  seen plan --merges --urls 1B --rate 1M     the same, of a load of yours

Reckons what a classic Bloom filter takes, by the theory, and what a store takes, from
bytes a URL that were measured on a crawl list: yours may differ, and `seen stats` tells of
a sample. --memory is that of the filter alone. Reads and writes nothing.

Exit status: 0 done; 2 failure.";

/// The least rate that a store can be asked for, and the largest.
const RATES: (f64, f64) = (MIN_RATE, MAX_RATE);
/// Beyond any crawl; bytes and bits of so many fit 64 bits by far.
const MOST_URLS: u64 = 1_000_000_000_000_000;
/// How wide a table is at most, if it has several columns.
pub(super) const WIDTH: usize = 96;

/// Reckon bits, hashes, memory and disk before there is a store
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// How many URLs: 100M, 2B, 1e9 or 1_000_000; several with commas between them
    #[arg(long, value_name = "COUNT", value_parser = parse_urls)]
    urls: Option<Urls>,
    /// Share of lookups of new URLs that may cost a needless read, such as 1% or 0.01; several
    /// with commas between them [default: 1%]
    #[arg(long, value_name = "RATE", value_delimiter = ',', value_parser = parse_rate)]
    fpr: Vec<f64>,
    /// Memory of the filter alone, such as 1GiB, in place of --fpr or --urls, which is then
    /// what is told; several with commas between them
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = parse_size)]
    memory: Vec<usize>,
    /// How the store's filters are built: bloom, blocked, fuse or none [default: blocked]
    #[arg(long, value_name = "KIND")]
    filter: Option<FilterKind>,
    /// One JSON object a line, for each column; sizes in bytes, rates as shares
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    merging: merges::Merging,
}

/// Counts of URLs.
#[derive(Debug, Clone)]
pub(super) struct Urls(pub(super) Vec<u64>);

/// Reads counts with commas between them. One that is written with commas in it is no list.
pub(super) fn parse_urls(text: &str) -> Result<Urls, String> {
    let parts: Vec<_> = text.split(',').map(str::trim).collect();
    let digits = |part: &&str| part.bytes().all(|b| b.is_ascii_digit());
    if let [first, rest @ ..] = parts.as_slice()
        && !rest.is_empty()
        && parts.iter().all(digits)
        && (1..=3).contains(&first.len())
        && rest.iter().all(|part| part.len() == 3)
    {
        return Err(format!(
            "commas stand between counts, not in them: for one, write {}",
            parts.join("_")
        ));
    }
    let mut counts = Vec::with_capacity(parts.len());
    for part in parts {
        let urls = parse_count(part).map_err(|wrong| match text.contains(',') {
            true => format!("{part:?} is none of them: {wrong}"),
            false => wrong,
        })?;
        if !(1..=MOST_URLS).contains(&urls) {
            return Err(format!("it is from 1 to {MOST_URLS} (1e15)"));
        }
        counts.push(urls);
    }
    Ok(Urls(counts))
}

/// One column.
#[derive(Debug)]
struct Plan {
    /// The memory that was given, if one was.
    memory: Option<u64>,
    /// The rate: what was asked for, or what the memory gives.
    rate: f64,
    sizing: Sizing,
    /// How the store's filters are built.
    kind: FilterKind,
    store: Footprint,
}

impl Plan {
    fn new(memory: Option<u64>, rate: f64, sizing: Sizing) -> Plan {
        Plan {
            memory,
            rate,
            sizing,
            kind: FilterKind::default(),
            store: Footprint::new(sizing.keys(), FilterKind::default(), rate.min(RATES.1)),
        }
    }

    /// With filters of a kind.
    fn with(mut self, kind: FilterKind) -> Plan {
        self.kind = kind;
        self.store = Footprint::new(self.sizing.keys(), kind, self.rate.min(RATES.1));
        self
    }

    fn for_rate(urls: u64, rate: f64) -> Result<Plan, Failure> {
        Ok(Plan::new(None, rate, Sizing::for_rate(urls, rate)?))
    }

    /// More memory than the least rate takes is not used.
    fn for_memory(urls: u64, memory: u64) -> Result<Plan, Failure> {
        let sizing = Sizing::for_memory(urls, memory)?;
        let least = Sizing::for_rate(urls, RATES.0)?;
        if least.bytes() <= memory {
            return Ok(Plan::new(Some(memory), RATES.0, least));
        }
        Ok(Plan::new(Some(memory), sizing.rate(), sizing))
    }

    fn for_capacity(memory: u64, rate: f64) -> Result<Plan, Failure> {
        let urls = capacity(memory, rate)?;
        if !(1..=MOST_URLS).contains(&urls) {
            return Err(Failure::Usage(format!(
                "at a rate of {}, {} holds {} URLs, and a plan is for 1 to {MOST_URLS}; \
                 give another --memory",
                percent(rate),
                bytes(memory),
                count(urls),
            )));
        }
        let sizing = Sizing::for_rate(urls, rate)?;
        Ok(Plan::new(Some(memory), rate, sizing))
    }

    fn has_unused_memory(&self) -> bool {
        self.memory.is_some() && self.rate <= RATES.0
    }

    fn has_too_little(&self) -> bool {
        self.rate > RATES.1
    }

    fn rate_with_twice(&self) -> f64 {
        self.sizing.rate_with(self.sizing.keys() * 2)
    }
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    if args.merging.merges {
        print(&merges::text(&args.merging, args.urls.as_ref(), args.json)?)?;
        return Ok(OK);
    }
    let mut plans = plans(args)?;
    if let Some(kind) = args.filter {
        plans = plans.into_iter().map(|plan| plan.with(kind)).collect();
    }
    let text = if args.json {
        plans
            .iter()
            .map(|plan| json(plan).finish() + "\n")
            .collect()
    } else {
        people(&plans)
    };
    print(&text)?;
    Ok(OK)
}

fn plans(args: &Args) -> Result<Vec<Plan>, Failure> {
    let rates = match args.fpr.as_slice() {
        [] => &[DEFAULT_RATE],
        rates => rates,
    };
    let memories: Vec<u64> = args.memory.iter().map(|size| *size as u64).collect();
    match &args.urls {
        Some(_) if !memories.is_empty() && !args.fpr.is_empty() => Err(Failure::Usage(
            "two of --urls, --fpr and --memory give the third; leave one of them out".into(),
        )),
        Some(Urls(urls)) if memories.is_empty() => each(urls, rates, Plan::for_rate),
        Some(Urls(urls)) => each(urls, &memories, Plan::for_memory),
        None if memories.is_empty() => Err(Failure::Usage(
            "give --urls, such as `seen plan --urls 100M`, or --memory, such as `seen plan \
             --memory 1GiB --fpr 1%`"
                .into(),
        )),
        None => each(&memories, rates, Plan::for_capacity),
    }
}

/// A plan for each of the ones with each of the others.
fn each<A: Copy, B: Copy>(
    ones: &[A],
    others: &[B],
    plan: impl Fn(A, B) -> Result<Plan, Failure>,
) -> Result<Vec<Plan>, Failure> {
    let pairs = ones
        .iter()
        .flat_map(|one| others.iter().map(|other| (*one, *other)));
    pairs.map(|(one, other)| plan(one, other)).collect()
}

fn json(plan: &Plan) -> Object {
    let Plan { sizing, store, .. } = plan;
    let classic = Object::new()
        .field("bits", sizing.bits())
        .field("bits_per_url", sizing.bits_per_key())
        .field("hashes", sizing.hashes())
        .field("bytes", sizing.bytes())
        .field("rate", sizing.rate())
        .field("rate_with_twice_the_urls", plan.rate_with_twice());
    let disk = Object::new()
        .field("with_stamps", store.disk)
        .field("without_stamps", store.disk_without_stamps)
        .field("while_all_is_merged", store.disk_merging);
    let memory = Object::new()
        .field("reading", store.reading())
        .field("writing", store.writing())
        .field("filters", store.filters)
        .field("filter_bits_per_url", store.filter_bits)
        .field("indexes", store.indexes)
        .field("memtables", store.memtables)
        .field("merge", store.merge);
    Object::new()
        .field("urls", sizing.keys())
        .field("rate", plan.rate)
        .field("memory", plan.memory.map_or(Value::Null, Value::from))
        .object("classic", classic)
        .object(
            "store",
            Object::new()
                .field("filter", plan.kind.name())
                .object("disk", disk)
                .object("memory", memory),
        )
}

/// A row of the table: its name, and the cell of a plan.
pub(super) type Row<Plan> = (&'static str, fn(&Plan) -> String);

const CLASSIC: [Row<Plan>; 5] = [
    ("  bits a URL", |plan| {
        format!("{:.1}", plan.sizing.bits_per_key())
    }),
    ("  hashes", |plan| count(plan.sizing.hashes().into())),
    ("  bits", |plan| count(plan.sizing.bits())),
    ("  memory", |plan| bytes(plan.sizing.bytes())),
    ("  rate if twice as many come", |plan| {
        percent(plan.rate_with_twice())
    }),
];

const STORE: [Row<Plan>; 11] = [
    ("  kind of filters", |plan| plan.kind.to_string()),
    ("  filters, bits a URL", |plan| {
        format!("{:.1}", plan.store.filter_bits)
    }),
    ("  disk", |plan| bytes(plan.store.disk)),
    ("  disk, without times", |plan| {
        bytes(plan.store.disk_without_stamps)
    }),
    ("  disk, while all is merged", |plan| {
        bytes(plan.store.disk_merging)
    }),
    ("  memory, only reading", |plan| bytes(plan.store.reading())),
    ("    filters", |plan| bytes(plan.store.filters)),
    ("    indexes", |plan| bytes(plan.store.indexes)),
    ("  memory, writing, at most", |plan| {
        bytes(plan.store.writing())
    }),
    ("    memtables", |plan| bytes(plan.store.memtables)),
    ("    a merge of everything", |plan| bytes(plan.store.merge)),
];

const QUESTION: [Row<Plan>; 2] = [
    ("URLs", |plan| count(plan.sizing.keys())),
    ("rate", |plan| percent(plan.rate)),
];

/// The parts of the table, and their headings.
const PARTS: [(&str, &[Row<Plan>]); 3] = [
    ("", &QUESTION),
    ("a classic Bloom filter", &CLASSIC),
    ("a store, exact", &STORE),
];

const NOTES: &str = "\
A classic filter is made for a number of URLs, and its rate rises if more come. This store's
own filters do not over-fill: each is built for exactly the keys of its segment, and all
together keep to the rate. Disk and indexes are those of a crawl list with 76 bytes a URL.
";

const UNUSED: &str = "\
What the least rate of a store, 0.0001 %, takes of the memory is all that is used.
";

const TOO_LITTLE: &str = "\
The largest rate of a store is 50 %: its filters take more than this memory.
";

fn people(plans: &[Plan]) -> String {
    let mut table = Columns::default();
    for (heading, rows) in PARTS {
        if !heading.is_empty() {
            table.row(heading, Vec::new());
        }
        for (name, cell) in rows {
            table.row(name, plans.iter().map(cell).collect());
        }
    }
    let mut text = format!("{}\n{NOTES}", table.text(WIDTH));
    for (note, about) in [
        (UNUSED, Plan::has_unused_memory as fn(&Plan) -> bool),
        (TOO_LITTLE, Plan::has_too_little),
    ] {
        if plans.iter().any(about) {
            text.push_str(note);
        }
    }
    text
}
