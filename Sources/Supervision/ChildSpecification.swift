/// The number of one life of a child, counted from 1.
///
/// A number is never used twice for an id while its supervisor lives, not even after the child was removed and started again, so a late
/// event of an old life is always recognised. An id that is new to a supervisor begins above 1 when the supervisor has forgotten very many
/// others (see ``Supervisor``).
package typealias Incarnation = UInt32

/// The identity and the restart rules of a child, as its supervisor needs them.
///
/// OTP's child specification: https://www.erlang.org/doc/apps/stdlib/supervisor.html#t:child_spec/0
package struct ChildSpecification: Sendable, Hashable {
    /// The child's name among its siblings.
    package var id: String
    /// The rule for when the child is started again.
    package var restart: RestartType {
        get { if case .own(let rules) = storedRules { rules.restart } else { ChildRules.standard.restart } }
        set { rules.restart = newValue }
    }
    /// The time that the child is given to stop.
    package var shutdown: Shutdown {
        get { if case .own(let rules) = storedRules { rules.shutdown } else { ChildRules.standard.shutdown } }
        set { rules.shutdown = newValue }
    }
    /// Whether the end of this child may end the supervisor, as the policy's ``SupervisionPolicy/autoShutdown`` says (OTP's `significant`).
    ///
    /// A permanent child never ends for good, so it can't be significant.
    package var isSignificant: Bool {
        get { if case .own(let rules) = storedRules { rules.isSignificant } else { ChildRules.standard.isSignificant } }
        set { rules.isSignificant = newValue }
    }
    /// Whether a first start that fails is a failure like any other, retried as the restart type and the policy say.
    ///
    /// With false, OTP's rule, the child is forgotten instead. A child that a configuration file declares uses true.
    package var isRetriedAtFirstStart: Bool {
        get { if case .own(let rules) = storedRules { rules.isRetriedAtFirstStart } else { ChildRules.standard.isRetriedAtFirstStart } }
        set { rules.isRetriedAtFirstStart = newValue }
    }
    /// The limits on this child's restarts where they differ from the policy's; nil if they don't.
    package var restartLimits: RestartLimits? {
        get { if case .own(let rules) = storedRules { rules.restartLimits } else { ChildRules.standard.restartLimits } }
        set { rules.restartLimits = newValue }
    }

    /// The child's place in the order in which its supervisor stops its children when it ends; of the policy's ``SupervisionPolicy/StopOrder``
    /// depends whether it counts.
    package var stopPlace: StopPlace {
        get {
            switch storedRules {
            case .standard: .chained
            case .standardOutside: .unordered
            case .own(let rules): rules.stopPlace
            }
        }
        set {
            // Most children's starts set this, and need no comparison of all rules.
            if case .standard = storedRules, newValue == .unordered { storedRules = .standardOutside } else { rules.stopPlace = newValue }
        }
    }

    private var rules: ChildRules {
        get { storedRules.rules }
        set { storedRules = ChildRules.Storage(newValue) }
    }

    private var storedRules: ChildRules.Storage

    /// Makes a specification.
    package init(
        id: String,
        restart: RestartType = .permanent,
        shutdown: Shutdown = .timeout(.seconds(5)),
        isSignificant: Bool = false,
        isRetriedAtFirstStart: Bool = false,
        restartLimits: RestartLimits? = nil,
        stopPlace: StopPlace = .chained
    ) {
        self.id = id
        let rules = ChildRules(
            restart: restart,
            shutdown: shutdown,
            isSignificant: isSignificant,
            isRetriedAtFirstStart: isRetriedAtFirstStart,
            restartLimits: restartLimits,
            stopPlace: stopPlace
        )
        storedRules = ChildRules.Storage(rules)
    }
}

/// The part of a specification that is the same for most children.
private struct ChildRules: Sendable, Hashable {
    /// The rules in a box, which most children don't need, because theirs are the standard ones: their specifications take little room.
    indirect enum Storage: Sendable, Hashable {
        case standard
        /// Those of a child outside of the chain that are standard otherwise.
        case standardOutside
        case own(ChildRules)

        init(_ rules: ChildRules) {
            switch rules.stopPlace {
            case .chained where rules.areStandard: self = .standard
            case .unordered where rules.areStandard: self = .standardOutside
            default: self = .own(rules)
            }
        }

        var rules: ChildRules {
            switch self {
            case .standard: .standard
            case .standardOutside: ChildRules(stopPlace: .unordered)
            case .own(let rules): rules
            }
        }
    }

    static let standard = ChildRules()

    /// Whether all but the place is as it is for most children.
    private var areStandard: Bool {
        // By patterns, since the specification of each child asks: what compares by `==` is called, with copies of all rules.
        guard case .permanent = restart, case .none = restartLimits, case .timeout(let time) = shutdown else { return false }
        return time == .seconds(5) && !isSignificant && !isRetriedAtFirstStart
    }

    var restart = RestartType.permanent
    var shutdown = Shutdown.timeout(.seconds(5))
    var isSignificant = false
    var isRetriedAtFirstStart = false
    var restartLimits: RestartLimits?
    var stopPlace = StopPlace.chained
}

extension ChildSpecification {
    /// Returns whether the child isn't started again after such an end, whatever its restart type.
    package func isFinal(_ reason: ExitReason) -> Bool {
        guard let codes = restartLimits?.finalExitCodes else { return reason.isPermanentFailure }
        if case .exited(let code) = reason { return codes.contains(code) }
        return false
    }

    /// Checks that the specification makes sense, by itself and under a supervisor's policy.
    ///
    /// - Throws: A ``SupervisionError`` that names the child and the value to correct.
    package func validate(under autoShutdown: SupervisionPolicy.AutoShutdown) throws(SupervisionError) {
        // The standard rules make sense.
        guard case .own = storedRules else { return }
        if let time = shutdown.grace, time < .zero {
            throw SupervisionError(.invalidShutdown, "child \(id): its time to stop is \(time); give 0 s or more")
        }
        do {
            try restartLimits?.validate()
        } catch {
            throw SupervisionError(error.code, "child \(id): \(error.message)")
        }
        guard isSignificant else { return }
        guard restart != .permanent else {
            let remedy = "give the restart type transient or temporary, or isSignificant false"
            throw SupervisionError(.invalidSignificance, "child \(id): significant and permanent, it never ends for good; \(remedy)")
        }
        guard autoShutdown != .never else {
            let remedy = "give isSignificant false, or the supervisor's policy autoShutdown anySignificant or allSignificant"
            throw SupervisionError(.invalidSignificance, "child \(id): it is significant under a policy of autoShutdown never; \(remedy)")
        }
    }
}

/// A rule for when a child that has ended by itself is started again.
///
/// The words and the rules are OTP's: https://www.erlang.org/doc/system/sup_princ.html#restart
public enum RestartType: String, Sendable, Codable, CaseIterable {
    /// The child is always restarted, also after a normal exit.
    case permanent
    /// The child is restarted after an abnormal exit only; after a normal one its specification is kept, as stopped.
    case transient
    /// The child is never restarted: once it has ended, its specification is forgotten.
    case temporary
}
