import Coordinators
import DaemonConfiguration
import Supervision

import enum DaemonConfiguration.RestartType

// The file's words and the library's are the same, in types of their own: neither target knows the other.

extension Supervision.RestartType {
    init(_ type: RestartType) {
        self =
            switch type {
            case .permanent: .permanent
            case .transient: .transient
            case .temporary: .temporary
            }
    }
}

extension Shutdown {
    init(_ policy: ShutdownPolicy) {
        self =
            switch policy {
            case .timeout(let duration): .timeout(duration)
            case .brutalKill: .brutalKill
            case .infinity: .infinity
            }
    }
}

extension SupervisionPolicy {
    init(_ settings: SupervisionSettings) {
        let strategy: Strategy =
            switch settings.strategy {
            case .oneForOne: .oneForOne
            case .oneForAll: .oneForAll
            case .restForOne: .restForOne
            }
        let backoff = settings.backoff
        self.init(
            strategy,
            intensity: settings.intensity,
            period: settings.period,
            backoff: Backoff(minimum: backoff.minimum, maximum: backoff.maximum, resetAfter: backoff.resetAfter)
        )
    }
}
