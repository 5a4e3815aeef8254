//! How an experiment is shown, as data: its pictures, which `chart.rs` draws, and the table of its
//! paper, which `table.rs` puts beside ours.

/// One picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plot {
    /// What its file's name has behind the experiment's; empty for the first.
    pub(crate) name: &'static str,
    /// What is drawn.
    pub(crate) metric: &'static str,
    /// How.
    pub(crate) chart: Chart,
}

impl Plot {
    /// The first picture of an experiment.
    pub(crate) const fn of_rows(metric: &'static str, chart: Chart) -> Plot {
        Plot { name: "", metric, chart }
    }
}

/// How a plot looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chart {
    /// One bar for each row, ordered by this value of `x`.
    Bars {
        /// Name of the value.
        by: &'static str,
    },
    /// One line for each series and configuration, along this value of `x`.
    Lines {
        /// Name of the value.
        along: &'static str,
        /// Whether the axes go in powers: both, or none.
        logarithmic: bool,
    },
    /// What `Record::timelines` has: the rate, and the memory below it.
    OverTime,
    /// What `Record::curves` has: each iteration.
    Curves,
}

/// A table of a paper.
pub(crate) struct PaperTable {
    /// Its caption.
    pub(crate) title: &'static str,
    /// Our metrics for its columns.
    pub(crate) metrics: &'static [&'static str],
    /// Its columns.
    pub(crate) heads: &'static [&'static str],
    /// Its rows.
    pub(crate) rows: &'static [PaperRow],
}

/// A row of a paper's table.
pub(crate) struct PaperRow {
    /// What the paper calls it.
    pub(crate) name: &'static str,
    /// What the paper found.
    pub(crate) values: &'static [&'static str],
    /// Our series of the same kind.
    pub(crate) ours: &'static str,
    /// Where our row was measured, in the words of a ratio's key.
    pub(crate) at: &'static [&'static str],
}
