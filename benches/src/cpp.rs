//! Small C++ programs, compiled with the machine's own compiler and libraries.

use crate::case::Missing;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io};

/// What all programs include as `common.hpp`.
const COMMON: &str = include_str!("../cpp/common.hpp");

/// Where the compiler looks anyway.
const SYSTEM: &str = "/usr/include";

/// A program and what it needs.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Program {
    /// What it is called.
    pub name: &'static str,
    /// Its text.
    pub source: &'static str,
    /// A header that is there when its library is installed.
    pub header: &'static str,
    /// The environment variable that may name the folder which holds the header.
    pub include_variable: &'static str,
    /// What the compiler is told beside `-O3`.
    pub flags: &'static [&'static str],
    /// What the linker is told.
    pub libraries: &'static [&'static str],
}

impl Program {
    /// Where the compiled program is; it is compiled when it has changed.
    pub fn compiled(&self) -> Result<PathBuf, Missing> {
        let include = self.include()?;
        let folder = self
            .folder(&include)
            .map_err(|error| Missing(format!("no place for it: {error}")))?;
        let program = folder.join(self.name);
        if !program.exists() {
            self.compile(&folder, &include)?;
        }
        Ok(program)
    }

    /// The folder that holds the headers.
    fn include(&self) -> Result<PathBuf, Missing> {
        let named = env::var_os(self.include_variable).map(PathBuf::from);
        let mut folders = named.into_iter().chain([SYSTEM.into()]);
        let missing = || {
            Missing(format!(
                "no {} in {SYSTEM} or ${}",
                self.header, self.include_variable
            ))
        };
        folders
            .find(|folder| folder.join(self.header).exists())
            .ok_or_else(missing)
    }

    /// A folder beside this executable, another for every text and place of the headers.
    fn folder(&self, include: &Path) -> io::Result<PathBuf> {
        let mut hash = DefaultHasher::new();
        (self, COMMON, include).hash(&mut hash);
        let folder =
            env::current_exe()?.with_file_name(format!("{}-{:016x}", self.name, hash.finish()));
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    fn compile(&self, folder: &Path, include: &Path) -> Result<(), Missing> {
        let failed = |error: io::Error| Missing(format!("g++: {error}"));
        fs::write(folder.join("common.hpp"), COMMON).map_err(failed)?;
        fs::write(folder.join("main.cpp"), self.source).map_err(failed)?;
        let mut compiler = Command::new(env::var_os("CXX").unwrap_or_else(|| "g++".into()));
        compiler.current_dir(folder).arg("-O3").args(self.flags);
        if include != Path::new(SYSTEM) {
            compiler.arg("-isystem").arg(include);
        }
        compiler
            .args(["main.cpp", "-o", self.name])
            .args(self.libraries);
        let output = compiler.output().map_err(failed)?;
        if output.status.success() {
            return Ok(());
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        let error = errors
            .lines()
            .find(|line| line.contains("error"))
            .unwrap_or_default();
        Err(Missing(format!("it doesn't compile: {error}")))
    }
}

/// What `program` writes when it reads `input`.
pub fn run(program: &Path, input: &[u8]) -> io::Result<String> {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    child
        .stdin
        .take()
        .ok_or(io::ErrorKind::BrokenPipe)?
        .write_all(input)?;
    let output = child.wait_with_output()?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(io::Error::other(output.status.to_string()))
    }
}
