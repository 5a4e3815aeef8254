//! The book's page on settings is the text that the table of settings makes of itself.
//! After a change of the table: `CORBIE_UPDATE=1 cargo test -p corbie-settings --test settings_page`.

use std::path::Path;

use corbie_settings::Settings;

#[test]
fn the_page_of_the_book_is_current() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/configuration.md");
    let made = Settings::reference();
    if std::env::var_os("CORBIE_UPDATE").is_some() {
        std::fs::write(&page, &made).expect("the page can be written");
    }
    let written = std::fs::read_to_string(&page).expect("the page is there");
    assert!(written == made, "{} is stale; CORBIE_UPDATE=1 makes it anew", page.display());
}

/// Rows `| `setting` | `default` | …` of the pages that explain the limits.
#[test]
fn defaults_named_in_prose_are_those_of_the_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for page in ["docs/src/limits.md", "SECURITY.md"] {
        let text = std::fs::read_to_string(root.join(page)).expect("the page is there");
        let mut found = 0;
        for row in text.lines().filter(|line| line.starts_with("| `")) {
            let codes: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
            let setting = Settings::TABLE.iter().find(|s| s.key == codes[0]);
            let setting = setting.unwrap_or_else(|| panic!("{page}: no setting {}", codes[0]));
            assert_eq!((setting.default)(), codes[1], "{page}: {}", codes[0]);
            found += 1;
        }
        assert!(found > 10, "{page} has lost its table");
    }
}
