import ConcurrencySupport
import Control

extension LifeHistory {
    /// The table of the lives, oldest first.
    var text: String {
        let rows = lives.map { life in
            [
                "\(life.incarnation)", life.pid.map { "\($0)" } ?? "-", life.started ?? "-", life.ended ?? "-",
                life.durationMilliseconds.map { Duration.milliseconds($0).briefText } ?? "-",
                TextLayout.printable(life.reason ?? (life.ended == nil ? "lives" : "-")),
            ]
        }
        return TextLayout.table(
            [["LIFE", "PID", "STARTED", "ENDED", "DURATION", "REASON"]] + rows,
            [.right, .right, .left, .left, .right, .left]
        )
    }
}
