/// Leaves out steps as long as the remaining ones still show the failure.
///
/// Zeller, Hildebrandt: "Simplifying and Isolating Failure-Inducing Input" (2002), https://doi.org/10.1109/32.988498
package func minimised<Step>(_ steps: [Step], while isFound: ([Step]) -> Bool) -> [Step] {
    var steps = steps
    var size = max(1, steps.count / 2)
    while true {
        var hasShrunk = false
        var start = 0
        while start < steps.count {
            let candidate = Array(steps[..<start] + steps[min(start + size, steps.count)...])
            if isFound(candidate) {
                steps = candidate
                hasShrunk = true
            } else {
                start += size
            }
        }
        if size == 1, !hasShrunk { return steps }
        size = max(1, size / 2)
    }
}
