import ConcurrencySupport
import Processes

/// What a program that runs follows of another specification.
extension ProgramHost {
    func take(_ definition: ChildDefinition) throws {
        guard case .program(let given) = definition.kind else { return }
        let (former, child, isReady, ends) = state.withLock { state in
            let former = state.specification
            var next = given
            // The process has begun with these, and whoever asks wants to know what it has.
            next.command = former.command
            next.environment = former.environment
            next.environmentFiles = former.environmentFiles
            next.inheritsEnvironment = former.inheritsEnvironment
            next.directory = former.directory
            next.sockets = former.sockets
            next.attributes = former.attributes
            (next.attributes.nice, next.attributes.limits) = (given.attributes.nice, given.attributes.limits)
            // The process shows its readiness in the way that it was started for.
            if !state.isReady { next.readiness = former.readiness }
            state.specification = next
            if former.watchdog != next.watchdog { state.changeWatchdog(to: next.watchdog) }
            var ends: [OneShot<Void>] = []
            if former.health != next.health {
                ends.append(state.healthWatchEnd)
                (state.healthWatchEnd, state.condition.health) = (OneShot(), nil)
            }
            if former.recycling != next.recycling || former.memoryLimit != next.memoryLimit {
                ends.append(state.ageWatchEnd)
                state.ageWatchEnd = OneShot()
            }
            return (former, state.child, state.isReady, ends)
        }
        let next = specification
        for end in ends { end.settle() }
        if isReady, exited.outcome == nil {
            if former.health != next.health { beginHealthWatch() }
            if former.recycling != next.recycling || former.memoryLimit != next.memoryLimit { beginAgeWatch() }
        }
        // The process may have ended before the new ends were there.
        if exited.outcome != nil { for end in state.withLock({ [$0.healthWatchEnd, $0.ageWatchEnd] }) { end.settle() } }
        defer { keep() }
        do throws(ProcessError) {
            try child?.change(from: former.attributes, to: next.attributes)
        } catch {
            throw CoordinatorError(.invalidSpecification, "\(path): \(error.message) It has the change from its next start on.")
        }
    }
}

extension ProgramHost.State {
    /// Changes the time between signs of life, as far as the process can follow: it was told the former time, or none, and would be ended for
    /// keeping to that.
    fileprivate mutating func changeWatchdog(to next: Duration?) {
        guard let present = watchdog else { return }
        watchdog = next.map { max($0, present) }
    }
}
