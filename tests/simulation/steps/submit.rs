//! Jobs are submitted.

use crate::books::Book;
use crate::world::World;

pub(crate) fn submit(world: &mut World) {
    let Some(plan) = world.plans.pop() else {
        return;
    };
    let name = world.books.len().to_string();
    let (job, ids) = plan.job(&name);
    let run = world.pool.submit(job).expect("a valid job");
    let what = format!("job {name} is submitted: {plan:?}");
    let book = Book::new(plan, run, ids, world.now());
    world.books.push(book);
    world.happened(what);
}
