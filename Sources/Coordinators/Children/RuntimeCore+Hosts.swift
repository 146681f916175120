import ConcurrencySupport
import Logging
import Supervision

extension RuntimeCore {
    convenience init(_ options: CoordinatorRuntime.Options, counts: LiveCounts = LiveCounts(), uplink: Uplink? = nil) {
        self.init(options, counts: counts, uplink: uplink, features: AllFeatures()) { ChildSupervisor(cell: .of($0)) }
    }

    func makeHost(
        _ definition: ChildDefinition,
        parent: CoordinatorCell,
        startContext: consuming StartContext,
        processes: PreparedProcesses,
        owner: any HostOwner,
        life: IncarnationID
    ) -> any ChildHost {
        let path = parent.path.appending(definition.key)
        switch definition.kind {
        case .program(let program):
            return ProgramHost(
                program,
                definition.specification.shutdown,
                path: path,
                parent: parent,
                startContext: startContext,
                events: HostEvents(owner: owner, life: life)
            )
        case .coordinator(let coordinator):
            switch coordinator.place {
            case .inProcess(let type), .insteadOfWorker(let type):
                if case .insteadOfWorker = coordinator.place { startContext.isBehindBorder = true }
                let standIn = options.standIns.isEmpty ? nil : options.standIns[type.name].map { CoordinatorType.of($0) }
                return CoordinatorCell(
                    type: standIn ?? type,
                    configuration: standIn == nil ? coordinator.configuration : .none,
                    path: path,
                    incarnation: life.incarnation,
                    parent: parent,
                    runtime: self,
                    startContext: startContext
                )
            case .worker(_, let program, let plan):
                let assignment = WorkerHost.Assignment(
                    definition: coordinator,
                    startTimeout: options.startTimeout,
                    events: HostEvents(owner: owner, life: life),
                    startContext: startContext
                )
                if let successor = processes.successor, successor.assign(assignment) { return successor }
                let host =
                    processes.spares?.takeSpare()
                    ?? WorkerHost(program, plan, path: path, parent: parent, orphan: takePromised(at: path))
                host.assign(assignment)
                return host
            }
        }
    }

    /// Reports a change of a child to the root's process, before any caller learns of it.
    func reportLife(_ transition: ChildTransition) {
        guard observation.lives.areWanted, let kind = transition.reported(at: time.now) else { return }
        observation.lives.add(LifecycleRecord(kind, of: transition.path, transition.incarnation, transition.processID))
    }

    /// Responds to a child of the root that was given up.
    func givenUp(_ path: CoordinatorPath, _ reason: ExitReason, by root: CoordinatorCell) {
        guard options.whenGivenUp == .endProcess else { return }
        observation.logger.critical(
            "the tree ends, because a child of its root was given up",
            metadata: ["coordinator.path": "\(path)", "reason": "\(reason)"]
        )
        execution.endReason.settle(reason)
        root.end(.failed(.escalated("gave up on \(path): \(reason)")))
    }

    /// Logs a change of a child and reports it to the instruments.
    func childChanged(_ path: @autoclosure () -> CoordinatorPath, _ change: Supervisor.Change, _ processID: Int32?) {
        let level: Logger.Level =
            switch change {
            // The notice is for a process that has ended by itself without a failure, which no other entry reports.
            case .stopped(.exited): .notice
            case .started, .stopped, .restarting: .debug
            case .restarted: .info
            case .crashed, .startFailed: .warning
            case .gaveUp: .error
            }
        announce(path(), ChangeDescription(change, at: time.now), processID, change.event, level)
    }

    /// Logs and reports a change that supervision has no part in.
    func announce(_ path: CoordinatorPath, _ incarnation: UInt32, _ change: LifecycleChange) {
        if observation.lives.areWanted { observation.lives.add(LifecycleRecord(.lifecycle(change), of: path, incarnation, nil)) }
        announce(path, ChangeDescription(change), nil, change, .debug)
    }

    private func announce(
        _ path: @autoclosure () -> CoordinatorPath,
        _ words: @autoclosure () -> ChangeDescription,
        _ processID: Int32?,
        _ event: LifecycleChange?,
        _ level: Logger.Level
    ) {
        if observation.logger.logLevel <= level {
            let (path, words) = (path(), words())
            observation.logger.log(level: level, "\(path) \(words.predicate)", metadata: words.metadata(path, processID))
        }
        if let event, observation.instruments.areActive { observation.instruments.changed(path(), event) }
    }
}
