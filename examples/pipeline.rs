//! A small pipeline in four languages: rustc compiles a program, awk makes measurements, the program smooths them, and
//! Python sums up. Files go from task to task; nothing is left on the disk but what the last task prints.
//!
//! It needs `rustc`, `awk` and `python3`.

use batchyard::{
    Command, CommandOutput, CommandSettings, FileSource, Job, Pool, Task, ThreadExecutor, command,
};

/// A program that takes the mean of each three neighbours.
const SMOOTH: &str = r#"
use std::io::{Read, stdin};
fn main() {
    let mut text = String::new();
    stdin().read_to_string(&mut text).expect("text");
    let values: Vec<f64> = text.lines().map(|line| line.parse().expect("a number")).collect();
    for three in values.windows(3) {
        println!("{:.3}", three.iter().sum::<f64>() / 3.0);
    }
}
"#;

/// A script that makes a station's measurements, and leaves them in a file.
const MEASURE: &str = r#"
BEGIN {
    srand(station)
    for (i = 0; i < 200; i++)
        printf "%.3f\n", 10 * station + 5 * sin(i / 10) + rand() >"station-" station ".txt"
}
"#;

/// A script that reads all files that it is given, and writes what it found about each.
const SUM_UP: &str = r#"
import csv, pathlib, statistics, sys
rows = csv.writer(sys.stdout)
rows.writerow(["station", "values", "mean", "highest"])
for path in sorted(pathlib.Path("smooth").iterdir()):
    values = [float(line) for line in path.read_text().split()]
    rows.writerow([path.stem, len(values), f"{statistics.mean(values):.2f}", f"{max(values):.2f}"])
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut job = Job::new("pipeline");
    // Where rustc finds its toolchain depends on more than PATH.
    job.command_settings(CommandSettings::new().inherit_env());

    let compile = Command::new("rustc")
        .args(["-O", "-o", "smooth", "smooth.rs"])
        .file("smooth.rs", FileSource::bytes(SMOOTH))
        .output_files("smooth");
    let program = job.add(Task::command("compile", compile));

    let stations = 1..=4;
    let measured = job.commands("measure", stations.map(measure));

    // Each station's values go through the program, as soon as both are there.
    let smooth = command(|measured: &CommandOutput, program: &CommandOutput| {
        Command::new("./smooth")
            .file("smooth", &*program.files()[0])
            .stdin_file(&measured.files()[0])
    });
    let smoothed = job.each("smooth", (&measured, &program), smooth);

    let sum_up = command(|smoothed: &[CommandOutput]| {
        let values = smoothed.iter().filter_map(|output| output.stdout().path());
        let python = Command::new("python3").args(["-c", SUM_UP]);
        (1..).zip(values).fold(python, |python, (station, path)| {
            python.file(format!("smooth/station-{station}.txt"), path)
        })
    });
    let table = job.reduce("sum up", &smoothed, sum_up);

    let pool = Pool::new(ThreadExecutor::new(2)?);
    let run = pool.submit(job)?;
    print!("{}", run.output(&table).wait()?.stdout().text()?);
    println!("{} tasks succeeded", run.wait()?.succeeded);
    Ok(())
}

/// Measurements of one station.
fn measure(station: u32) -> Command {
    Command::new("awk")
        .args(["-v", &format!("station={station}"), MEASURE])
        .output_files("station-*.txt")
}
