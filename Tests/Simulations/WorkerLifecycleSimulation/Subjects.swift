package import WorkerLifecycle

/// A worker's machine, or one that a fault has been planted in.
package struct WorkerSubject {
    /// Handles events in the machine's place.
    package typealias Mutation = (_ machine: inout WorkerMachine, _ event: WorkerMachine.Event, _ now: Duration) -> [WorkerMachine
        .Directive]

    var machine: WorkerMachine
    let mutation: Mutation?

    mutating func handle(_ event: WorkerMachine.Event, now: Duration) -> [WorkerMachine.Directive] {
        if let mutation { return mutation(&machine, event, now) }
        return machine.handle(event, now: now)
    }
}

/// A pool's machine, or one that a fault has been planted in.
package struct PoolSubject {
    /// Handles events in the machine's place.
    package typealias Mutation = (
        _ machine: inout SparePoolMachine, _ event: SparePoolMachine.Event, _ now: Duration
    ) -> [SparePoolMachine.Directive]

    var machine: SparePoolMachine
    let mutation: Mutation?

    mutating func handle(_ event: SparePoolMachine.Event, now: Duration) -> [SparePoolMachine.Directive] {
        if let mutation { return mutation(&machine, event, now) }
        return machine.handle(event, now: now)
    }
}

/// The faults that are planted, if any.
package struct Mutations {
    /// Makes the mutation that stands between a worker's machine and the world, anew for every process.
    package var worker: (() -> WorkerSubject.Mutation)?
    /// Makes the mutation that stands between the pool's machine and the world.
    package var pool: (() -> PoolSubject.Mutation)?

    /// Plants these faults, or none.
    package init(worker: (() -> WorkerSubject.Mutation)? = nil, pool: (() -> PoolSubject.Mutation)? = nil) {
        self.worker = worker
        self.pool = pool
    }
}
