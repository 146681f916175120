public import Coordinators

/// The policies that the tests need, as values that cross processes and as types.
///
/// Intensity and backoff are out of the way unless the name says otherwise. All children are a chain, as OTP's are, whenever they're started.
public enum Policies: String, Codable, Sendable, Hashable, CaseIterable {
    case oneForOne, oneForAll, restForOne
    /// With OTP's intensity, 1: the second restart in the period is one too many.
    case oneForOneTight, oneForAllTight, restForOneTight
    /// With a backoff that makes an endless restart loop affordable.
    case oneForOneLooping, restForOneLooping
    case any, all
    case anyOneForAll, allOneForAll, anyRestForOne, allRestForOne
    /// No policy can be so: its intensity is negative.
    case faulty

    public var policy: SupervisionPolicy {
        switch self {
        case .oneForOne: Self.roomy(.oneForOne)
        case .oneForAll: Self.roomy(.oneForAll)
        case .restForOne: Self.roomy(.restForOne)
        case .oneForOneTight: Self.tight(.oneForOne)
        case .oneForAllTight: Self.tight(.oneForAll)
        case .restForOneTight: Self.tight(.restForOne)
        case .oneForOneLooping: Self.looping(.oneForOne)
        case .restForOneLooping: Self.looping(.restForOne)
        case .any: Self.roomy(.oneForOne, .anySignificant)
        case .all: Self.roomy(.oneForOne, .allSignificant)
        case .anyOneForAll: Self.roomy(.oneForAll, .anySignificant)
        case .allOneForAll: Self.roomy(.oneForAll, .allSignificant)
        case .anyRestForOne: Self.roomy(.restForOne, .anySignificant)
        case .allRestForOne: Self.roomy(.restForOne, .allSignificant)
        case .faulty: SupervisionPolicy(intensity: -1)
        }
    }

    /// The type of a supervisor with this policy.
    public var choice: any PolicyChoice.Type {
        switch self {
        case .oneForOne: OneForOne.self
        case .oneForAll: OneForAll.self
        case .restForOne: RestForOne.self
        case .oneForOneTight: OneForOneTight.self
        case .oneForAllTight: OneForAllTight.self
        case .restForOneTight: RestForOneTight.self
        case .oneForOneLooping: OneForOneLooping.self
        case .restForOneLooping: RestForOneLooping.self
        case .any: AnySignificant.self
        case .all: AllSignificant.self
        case .anyOneForAll: AnyOneForAll.self
        case .allOneForAll: AllOneForAll.self
        case .anyRestForOne: AnyRestForOne.self
        case .allRestForOne: AllRestForOne.self
        case .faulty: Faulty.self
        }
    }

    private static func roomy(_ strategy: SupervisionPolicy.Strategy, _ autoShutdown: SupervisionPolicy.AutoShutdown = .never)
        -> SupervisionPolicy
    {
        SupervisionPolicy(strategy, intensity: 1_000, period: .seconds(60), backoff: .none, autoShutdown: autoShutdown, stopOrder: .chain)
    }

    /// The period is longer than any test, however busy the machine.
    private static func tight(_ strategy: SupervisionPolicy.Strategy) -> SupervisionPolicy {
        SupervisionPolicy(strategy, intensity: 1, period: .seconds(600), backoff: .none, stopOrder: .chain)
    }

    private static func looping(_ strategy: SupervisionPolicy.Strategy) -> SupervisionPolicy {
        let backoff = Backoff(minimum: .milliseconds(50), maximum: .milliseconds(50), factor: 1, jitter: 0)
        return SupervisionPolicy(strategy, intensity: 1_000_000, period: .seconds(60), backoff: backoff, stopOrder: .chain)
    }
}

/// A type's policy is static: each policy is a type.
public protocol PolicyChoice: Sendable {
    static var choice: Policies { get }
}

public enum OneForOne: PolicyChoice { public static let choice = Policies.oneForOne }
public enum OneForAll: PolicyChoice { public static let choice = Policies.oneForAll }
public enum RestForOne: PolicyChoice { public static let choice = Policies.restForOne }
public enum OneForOneTight: PolicyChoice { public static let choice = Policies.oneForOneTight }
public enum OneForAllTight: PolicyChoice { public static let choice = Policies.oneForAllTight }
public enum RestForOneTight: PolicyChoice { public static let choice = Policies.restForOneTight }
public enum OneForOneLooping: PolicyChoice { public static let choice = Policies.oneForOneLooping }
public enum RestForOneLooping: PolicyChoice { public static let choice = Policies.restForOneLooping }
public enum AnySignificant: PolicyChoice { public static let choice = Policies.any }
public enum AllSignificant: PolicyChoice { public static let choice = Policies.all }
public enum AnyOneForAll: PolicyChoice { public static let choice = Policies.anyOneForAll }
public enum AllOneForAll: PolicyChoice { public static let choice = Policies.allOneForAll }
public enum AnyRestForOne: PolicyChoice { public static let choice = Policies.anyRestForOne }
public enum AllRestForOne: PolicyChoice { public static let choice = Policies.allRestForOne }
public enum Faulty: PolicyChoice { public static let choice = Policies.faulty }
