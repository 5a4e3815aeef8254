//! The book's page on settings is the text that the table of settings makes of itself.
//! After a change of the table: `CORBIE_UPDATE=1 cargo test -p corbie-core --test settings_page`.

use std::path::Path;

use corbie_core::init::Settings;

#[test]
fn the_page_of_the_book_is_current() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/configuration.md");
    let made = Settings::reference();
    if std::env::var_os("CORBIE_UPDATE").is_some() {
        std::fs::write(&page, &made).expect("the page can be written");
    }
    let written = std::fs::read_to_string(&page).expect("the page is there");
    assert!(
        written == made,
        "{} is stale; CORBIE_UPDATE=1 makes it anew",
        page.display()
    );
}
