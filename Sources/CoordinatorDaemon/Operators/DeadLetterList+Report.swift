import Control
import Coordinators

extension DeadLetterList {
    init(_ report: DeadLetterReport) {
        self.init(
            count: report.count,
            letters: report.letters.map { letter in
                Letter(
                    name: letter.name,
                    sender: letter.sender.description,
                    target: letter.target.description,
                    reason: letter.reason.description
                )
            }
        )
    }
}
