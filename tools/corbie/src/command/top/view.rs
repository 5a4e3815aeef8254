//! One frame of `top`: facts in a line, and tables below each other.
//! Knows nothing of terminals: it is drawn into one, or printed.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Stylize as _;
use ratatui::text::Line;
use ratatui::widgets::{Row, Table, Widget};

use super::scrape::Page;
use crate::escapes::one_line;

/// What is on the screen.
pub(super) struct View {
    pub(super) title: String,
    pub(super) facts: Vec<(&'static str, String)>,
    pub(super) sections: Vec<Section>,
    /// Why the last look failed.
    pub(super) trouble: Option<String>,
}

/// A table; one without rows is not shown.
pub(super) struct Section {
    heads: &'static [&'static str],
    rows: Vec<Vec<String>>,
}

/// How much a metric of this name and label grew in a second.
type Rate<'r> = &'r dyn Fn(&str, &str) -> Option<f64>;

impl Section {
    pub(super) fn requests(page: &Page, rate: Rate<'_>) -> Self {
        const NAME: &str = "corbie_requests_total";
        let mut rows: Vec<(f64, Vec<String>)> = Vec::new();
        for operation in page.values(NAME, "operation") {
            let (sum, count) = (
                page.sum("corbie_request_seconds_sum", &operation),
                page.sum("corbie_request_seconds_count", &operation),
            );
            let each = rate(NAME, &operation).unwrap_or(0.0);
            let failed = page.sum_of(NAME, &operation, "system_exception");
            let mean = if count > 0.0 { sum / count * 1e3 } else { 0.0 };
            let cells = [
                one_line(&operation),
                format!("{each:.1}"),
                format!("{}", page.sum(NAME, &operation)),
                format!("{failed}"),
                format!("{mean:.3}"),
            ];
            rows.push((each, cells.to_vec()));
        }
        // The busiest first.
        rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        let rows = rows.into_iter().map(|(_, cells)| cells).collect();
        Self { heads: &["operation", "a second", "requests", "failed", "mean ms"], rows }
    }

    pub(super) fn channels(page: &Page, rate: Rate<'_>) -> Self {
        let row = |channel: String| {
            let rate = |name| format!("{:.1}", rate(name, &channel).unwrap_or(0.0));
            let value = |name| format!("{}", page.sum(name, &channel));
            vec![
                one_line(&channel),
                rate("corbie_event_received_total"),
                rate("corbie_event_delivered_total"),
                value("corbie_event_longest_queue"),
                value("corbie_event_dropped_total"),
                value("corbie_event_consumers"),
            ]
        };
        let channels = page.values("corbie_event_received_total", "channel");
        let heads = &["channel", "came/s", "taken/s", "longest queue", "dropped", "consumers"];
        Self { heads, rows: channels.into_iter().map(row).collect() }
    }

    pub(super) fn limits(page: &Page) -> Self {
        const NAME: &str = "corbie_limit_reached_total";
        let row = |setting: String| {
            let times = format!("{}", page.sum(NAME, &setting));
            vec![one_line(&setting), times]
        };
        let rows = page.values(NAME, "setting").into_iter().map(row).collect();
        Self { heads: &["setting in the way", "times"], rows }
    }
}

impl Widget for &View {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let facts = self.facts.iter().map(|(name, value)| format!("{name} {value}"));
        let facts: Vec<String> = facts.collect();
        let second = match &self.trouble {
            Some(trouble) => Line::from(one_line(trouble)).red(),
            None => Line::from(facts.join("   ")),
        };
        let shown: Vec<_> = self.sections.iter().filter(|one| !one.rows.is_empty()).collect();
        let mut heights = vec![Constraint::Length(1), Constraint::Length(2)];
        let rows = |section: &&Section| u16::try_from(section.rows.len()).unwrap_or(u16::MAX);
        heights.extend(shown.iter().map(|s| Constraint::Max(rows(s).saturating_add(2))));
        heights.push(Constraint::Fill(1));
        let areas = Layout::vertical(heights).split(area);
        Line::from(format!("corbie top   {}", one_line(&self.title)))
            .bold()
            .render(areas[0], buffer);
        second.render(areas[1], buffer);
        for (section, area) in shown.into_iter().zip(areas.iter().skip(2)) {
            let rows = section.rows.iter().map(|cells| Row::new(cells.iter().map(String::as_str)));
            let mut widths = vec![Constraint::Fill(1)];
            widths.resize(section.heads.len(), Constraint::Length(14));
            let heads = Row::new(section.heads.iter().copied()).bold();
            Table::new(rows, widths).header(heads).render(*area, buffer);
        }
    }
}
