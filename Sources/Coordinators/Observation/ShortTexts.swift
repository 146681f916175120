import Supervision

// Texts of other processes, which may be as long as a frame, are kept for long, and many of them may wait for those who view them: they're cut.

extension ExitReason {
    private var shortened: ExitReason {
        switch self {
        case .failed(let text): .failed(text.shortened)
        case .startFailed(let text): .startFailed(text.shortened)
        case .escalated(let text): .escalated(text.shortened)
        case .normal, .shutdown, .exited, .signaled, .hung, .startTimedOut, .stopTimedOut, .memoryExceeded, .killed, .outOfMemory,
            .unknown:
            self
        }
    }

    fileprivate static func shortening(_ change: LifecycleChange) -> LifecycleChange {
        switch change {
        case .stopped(let reason): .stopped(reason.shortened)
        case .crashed(let reason): .crashed(reason.shortened)
        case .startFailed(let reason): .startFailed(reason.shortened)
        case .gaveUp(let reason): .gaveUp(reason.shortened)
        case .started, .restarted, .paused, .resumed: change
        }
    }
}

extension LifeChange {
    var shortened: LifeChange {
        var change = self
        change.path = path.shortened
        switch kind {
        case .lifecycle(let lifecycle): change.kind = .lifecycle(ExitReason.shortening(lifecycle))
        case .brokeRule(let rule): change.kind = .brokeRule(rule.shortened)
        case .stuck(let text): change.kind = .stuck(text.shortened)
        case .health(let problem): change.kind = .health(problem: problem?.shortened)
        case .restarting, .adopted, .silent: break
        }
        return change
    }
}

extension TreeEvent {
    var shortened: TreeEvent {
        let kind: Kind =
            switch kind {
            case .lifecycle(let change): .lifecycle(ExitReason.shortening(change))
            case .handled(let message, let sender, let duration, let error):
                .handled(message: message.shortened, sender: sender.shortened, duration: duration, error: error?.shortened)
            case .event(let type): .event(type: type.shortened)
            case .dropped(let letter): .dropped(letter.shortened)
            }
        let trace = trace.map { TraceContext(traceparent: $0.traceparent.shortened) }
        return TreeEvent(path: path.shortened, processID: processID, trace: trace, kind: kind)
    }
}

extension MessageTraces.Report {
    var shortened: Self {
        var report = self
        report.trace = trace.shortened
        (report.hop.path, report.hop.sender) = (hop.path.shortened, hop.sender.shortened)
        (report.hop.type, report.hop.message, report.hop.error) = (hop.type.shortened, hop.message.shortened, hop.error?.shortened)
        return report
    }
}
