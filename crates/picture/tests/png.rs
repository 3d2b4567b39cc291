//! Tests of `contend-png` through its binary: the picture is that of the SVG, and its text is drawn.

use resvg::tiny_skia::Pixmap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Pixels of the PNG for one of the SVG.
const SCALE: u32 = 2;

fn png_of(svg: &str, variables: &[(&str, &Path)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend-png"));
    command.envs(variables.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that refuses the input may have ended before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(svg.as_bytes());
    child.wait_with_output().unwrap()
}

/// Returns a picture that was drawn, and the messages about it.
fn drawn(svg: &str) -> (Pixmap, String) {
    let output = png_of(svg, &[]);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    (Pixmap::decode_png(&output.stdout).expect("it is a PNG"), stderr)
}

fn refusal(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && output.stdout.is_empty(), "{:?}: {stderr}", output.status);
    stderr
}

/// Returns whether this machine can draw text at all; otherwise only the error can be tested.
fn has_fonts() -> bool {
    let output = png_of("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 9 9\"/>", &[]);
    let found = output.status.success();
    if !found {
        assert!(refusal(&output).contains("no font"));
        println!("skipped: needs fonts");
    }
    found
}

/// Returns a real picture: the ladder that README shows.
fn ladder() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures/ladder.svg")).unwrap()
}

/// Returns the value after `name="` in this piece of markup.
fn number(markup: &str, name: &str) -> f64 {
    let (_, rest) = markup.split_once(&format!(" {name}=\"")).unwrap_or_else(|| panic!("{name} in {markup}"));
    rest.split('"').next().unwrap().parse().unwrap()
}

/// Returns the number of pixels within these lines of the SVG that are nearer to black than to white.
fn ink(picture: &Pixmap, [left, right]: [f64; 2], [top, bottom]: [f64; 2]) -> usize {
    let at = |length: f64, most: u32| ((length * f64::from(SCALE)).max(0.0) as u32).min(most);
    let columns = at(left, picture.width())..at(right, picture.width());
    let rows = at(top, picture.height())..at(bottom, picture.height());
    let is_dark = |x: u32, y: u32| picture.pixel(x, y).is_some_and(|pixel| pixel.red() < 128 && pixel.blue() < 128);
    rows.map(|y| columns.clone().filter(|x| is_dark(*x, y)).count()).sum()
}

#[test]
fn png_has_the_size_and_the_background_of_the_svg() {
    if !has_fonts() {
        return;
    }
    let svg = ladder();
    let (picture, stderr) = drawn(&svg);
    let (_, sides) = svg.split_once("viewBox=\"0 0 ").unwrap();
    let sides: Vec<f64> = sides.split('"').next().unwrap().split(' ').map(|side| side.parse().unwrap()).collect();
    let expected: Vec<u32> = sides.iter().map(|side| (side * f64::from(SCALE)).ceil() as u32).collect();
    assert_eq!([picture.width(), picture.height()], expected[..]);
    assert!(picture.pixels().iter().all(|pixel| pixel.alpha() == 255), "the paper is everywhere");
    let white = picture.pixels().iter().filter(|pixel| pixel.red() == 255 && pixel.blue() == 255).count();
    let share = white as f64 / picture.pixels().len() as f64;
    assert!((0.5..0.99).contains(&share), "light paper with something on it: {share}");
    assert_eq!(stderr, "", "our own words need no letter that is missing");
}

/// Each line of the ladder begins with its words, at the left; nothing else is drawn there.
#[test]
fn every_text_is_written() {
    if !has_fonts() {
        return;
    }
    let svg = ladder();
    let places: Vec<&str> = svg.split("<text x=\"4\"").skip(1).collect();
    assert!(places.len() > 10, "{svg}");
    let mute = svg.replace("<text", "<desc").replace("</text", "</desc");
    let [written, blank] = [&svg, &mute].map(|svg| drawn(svg).0);
    for place in places {
        let (y, words) = (number(place, "y"), place.split(['>', '<']).nth(1).unwrap());
        let around = |picture: &Pixmap| ink(picture, [4.0, 300.0], [y - 10.0, y + 3.0]);
        assert!(around(&written) > 5 * words.len(), "{words}: {} pixels of ink", around(&written));
        assert_eq!(around(&blank), 0, "{words}: the ink is not the text's");
    }
}

#[test]
fn without_a_font_nothing_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("fonts.conf");
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    fs::write(&settings, format!("<fontconfig><dir>{}</dir></fontconfig>", empty.display())).unwrap();
    let stderr = refusal(&png_of(&ladder(), &[("FONTCONFIG_FILE", &settings)]));
    assert!(stderr.contains("no installed font") && stderr.contains("fonts-dejavu-core"), "{stderr}");
}

#[test]
fn letter_missing_in_all_fonts_is_reported() {
    if !has_fonts() {
        return;
    }
    // The last of the private-use characters: no font is expected to draw it.
    let svg =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 99 20\"><text y=\"15\">ab\u{10fffd}</text></svg>";
    let (_, stderr) = drawn(svg);
    assert!(stderr.contains("no installed font has U+10FFFD;"), "{stderr}");
}

#[test]
fn input_that_is_not_a_picture_is_refused() {
    if !has_fonts() {
        return;
    }
    for (svg, message) in
        [("", "not a valid SVG"), ("{\"schema\":\"contend/1\"}", "not a valid SVG"), ("<svg", "not a valid SVG")]
    {
        let stderr = refusal(&png_of(svg, &[]));
        assert!(stderr.contains(message), "{svg}: {stderr}");
    }
    let large = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1000 900000\"/>";
    let stderr = refusal(&png_of(large, &[]));
    assert!(stderr.contains("2000 x 1800000 pixels"), "{stderr}");
}

/// Text of a record must not cause a file of this machine to be drawn.
#[test]
fn embedded_picture_is_not_opened() {
    if !has_fonts() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.svg");
    let black = "<rect width=\"100%\" height=\"100%\"/>";
    let with = |inner: &str| {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"20\" height=\"20\" viewBox=\"0 0 20 20\">{inner}</svg>"
        )
    };
    fs::write(&other, with(black)).unwrap();
    let (picture, _) = drawn(&with(&format!("<image href=\"{}\" width=\"20\" height=\"20\"/>", other.display())));
    assert!(picture.pixels().iter().all(|pixel| pixel.alpha() == 0), "{} was drawn", other.display());
    let (picture, _) = drawn(&with(black));
    assert!(picture.pixels().iter().all(|pixel| pixel.alpha() == 255));
}

/// Returns the path of contend next to this program, if the workspace was built.
fn contend() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_BIN_EXE_contend-png")).with_file_name("contend");
    path.exists().then_some(path)
}

/// A test of `contend` compares the values in text and pictures; this one compares the PNG with its SVG.
#[test]
fn contend_writes_the_png_of_its_svg() {
    let (Some(contend), true) = (contend(), has_fonts()) else {
        return println!("skipped: needs contend beside contend-png");
    };
    let folder = TempDir::new().unwrap();
    let record = Path::new(env!("CARGO_MANIFEST_DIR")).join("../contend/tests/records/survey.json");
    let [svg, png] = ["ladder.svg", "ladder.png"].map(|name| folder.path().join(name));
    for place in [&svg, &png] {
        let mut command = Command::new(&contend);
        let output = command.env("CONTEND_ARCHIVE", "").arg("ladder").arg(&record).arg("--output").arg(place).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let of_svg = png_of(&fs::read_to_string(&svg).unwrap(), &[]).stdout;
    assert!(fs::read(&png).unwrap() == of_svg, "the PNG is of another picture");
}
