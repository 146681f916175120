import Supervision

/// The effects of events.
extension InvariantChecker {
    /// Takes note of an event, and returns the child that now has to be stopped.
    mutating func note(_ event: Machine.Event, now: Duration) -> Int? {
        switch event {
        case .startRequested(let specification):
            guard !isEnding, let slot = Place.slot(of: specification.id) else { return nil }
            lines[slot].isKnown = true
            lines[slot].isWanted = true
            lines[slot].limits = specification.restartLimits
            lines[slot].stopPlace = specification.stopPlace
            if lines[slot].life == nil || lines[slot].life?.isToldToStop == true {
                // One that waits keeps the specification that it has; one that is started now has this.
                if lines[slot].life != nil { lines[slot].specification = specification }
                lines[slot].wasAwaited = lines[slot].isLicensed
                lines[slot].isLicensed = true
                lines[slot].isRequested = true
            }
            if lines[slot].isLeaving {
                lines[slot].isLeaving = false
                lines[slot].comesBackLast = true
            }
        case .restartRequested(let id):
            guard !isEnding, let slot = Place.slot(of: id), lines[slot].isKnown, !lines[slot].isLeaving else { return nil }
            lines[slot].isWanted = true
            lines[slot].isLicensed = true
            lines[slot].isRequested = true
            lines[slot].notBefore = nil
            return lines[slot].life == nil ? nil : slot
        case .stopRequested(let id), .removeRequested(let id):
            guard !isEnding, let slot = Place.slot(of: id) else { return nil }
            lines[slot].isWanted = false
            lines[slot].isLicensed = false
            lines[slot].notBefore = nil
            lines[slot].comesBackLast = false
            if case .removeRequested = event, lines[slot].life != nil { lines[slot].isLeaving = true }
            return slot
        case .started(let id, let incarnation):
            guard let slot = Place.slot(of: id), lines[slot].life?.incarnation == incarnation else { return nil }
            lines[slot].life?.isReady = true
        case .startFailed(let id, let incarnation, let reason), .exited(let id, let incarnation, let reason):
            guard let slot = Place.slot(of: id), let life = lines[slot].life, life.incarnation == incarnation else { return nil }
            lines[slot].life = nil
            if !life.isToldToStop {
                noteEnd(of: slot, reason, wasReady: life.isReady)
            } else if lines[slot].isFinishing {
                noteSignificance(of: slot)
            }
        case .finished(let id, let incarnation):
            guard !isEnding, let slot = Place.slot(of: id), let life = lines[slot].life, life.incarnation == incarnation else { return nil }
            lines[slot].isWanted = false
            lines[slot].isLicensed = false
            lines[slot].isLeaving = true
            lines[slot].comesBackLast = false
            if !life.isToldToStop { lines[slot].isFinishing = true }
            return slot
        case .shutdownRequested(let reason):
            if wish == nil { wish = reason }
            for slot in lines.indices {
                lines[slot].isWanted = false
                lines[slot].isLicensed = false
            }
        case .timePassed:
            wake = nil
        case .policyChanged(let policy):
            self.policy = policy
        case .specificationChanged(let specification):
            if !isEnding, let slot = Place.slot(of: specification.id), lines[slot].isKnown { lines[slot].specification = specification }
        }
        return nil
    }

    /// Takes note of a life that has ended by itself.
    private mutating func noteEnd(of slot: Int, _ reason: ExitReason, wasReady: Bool) {
        if lines[slot].isJoined { lines[slot].isLicensed = true }
        guard let specification = lines[slot].specification else { return noteSignificance(of: slot) }
        let isTemporary = specification.restart == .temporary
        let mayBeLast = isTemporary || specification.restart == .transient && wasReady && reason.isNormal
        guard mayBeLast || reason.isPermanentFailure else { return }
        // One that was about to be stopped for a sibling's sake comes back with it.
        if isTemporary || reason.isPermanentFailure || !lines[slot].isJoined { lines[slot].isWanted = false }
        noteSignificance(of: slot)
    }

    private mutating func noteSignificance(of slot: Int) {
        guard lines[slot].specification?.isSignificant ?? true else { return }
        switch policy.autoShutdown {
        case .never: break
        case .anySignificant: mayComplete = true
        case .allSignificant:
            let isAnotherThere = lines.contains { $0.specification?.isSignificant == true && $0.life?.isToldToStop == false }
            mayComplete = !isAnotherThere
        }
    }
}
