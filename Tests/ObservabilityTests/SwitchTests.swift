import ConcurrencySupport
import TestSupport
import Testing

@testable import Coordinators

@Suite("What is told to the processes below when observation is switched", .timeLimit(minutes: 2))
struct SwitchTests {
    @Test("A change that comes while another is told comes after it, also one of a listener's own, and what has changed back isn't told")
    func order() {
        let value = Lock(0)
        let told = Lock<[Int]>([])
        let teller = ChangeTeller(0)
        @Sendable func set(_ new: Int) {
            value.withLock { $0 = new }
            teller.tell { value.withLock { $0 } }
        }
        _ = teller.add { new in
            if new == 1 { for next in [2, 3] { set(next) } }
            if new == 5 { for next in [6, 5] { set(next) } }
            told.withLock { $0.append(new) }
        }
        for new in [1, 3, 5, 0] { set(new) }
        #expect(told.withLock { $0 } == [1, 3, 5, 0])
    }

    @Test("However many switch at a time, what was told last is what holds")
    func simultaneous() async {
        let activity = ObservationActivity()
        let tap = Tap(uplink: nil, activity: activity)
        let traces = MessageTraces(uplink: nil, activity: activity)
        let telemetry = Telemetry(TelemetryConfiguration(), exporter: nil, uplink: nil, activity: activity)
        let (tapped, traced) = (Told(), Told())
        let measured = Told()
        _ = tap.whenSwitched { tapped.note($0) }
        _ = traces.whenSwitched { traced.note($0) }
        _ = telemetry.whenSwitched { measured.note($0.measures) }
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    for round in 0..<2_000 {
                        let isOn = round % 2 == 0
                        tap.setWantedAbove(isOn)
                        traces.setWantedAbove(isOn)
                        telemetry.set(TelemetryConfiguration(sampling: nil, measures: isOn))
                    }
                }
            }
        }
        for told in [tapped, traced, measured] {
            let (values, isInOrder) = told.state.withLock { ($0.count, $0.isInOrder) }
            #expect(values > 0 && isInOrder)
        }
        #expect(tapped.latest == tap.isActive && traced.latest == traces.isActive && measured.latest == telemetry.configuration.measures)
        #expect(!activity.isAny)
    }

    /// What a listener was told: in order it's on and off by turns.
    private final class Told: Sendable {
        let state = Lock<(latest: Bool, count: Int, isInOrder: Bool)>((false, 0, true))

        var latest: Bool { state.withLock { $0.latest } }

        func note(_ isOn: Bool) {
            state.withLock { state in
                if isOn == state.latest { state.isInOrder = false }
                (state.latest, state.count) = (isOn, state.count + 1)
            }
        }
    }
}
