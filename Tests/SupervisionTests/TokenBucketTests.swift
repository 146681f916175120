import Supervision
import Testing

@Suite struct TokenBucketTests {
    private func take(_ count: Int, _ bucket: inout TokenBucket, at now: Duration) -> [Duration] {
        (0..<count).map { _ in bucket.takeToken(now: now) }
    }

    @Test func aFullBucketGivesItsBurstAtOnceAndThenOneTurnEach() {
        var bucket = TokenBucket(rate: 50, burst: 100)
        let now = Duration.seconds(1_000)
        #expect(take(100, &bucket, at: now) == [Duration](repeating: now, count: 100))
        #expect(take(3, &bucket, at: now) == [now + .milliseconds(20), now + .milliseconds(40), now + .milliseconds(60)])
    }

    @Test func tokensComeInWhileNobodyTakesAny() {
        var bucket = TokenBucket(rate: 10, burst: 3)
        _ = take(3, &bucket, at: .zero)
        #expect(take(2, &bucket, at: .milliseconds(100)) == [.milliseconds(100), .milliseconds(200)])
        // The turn at 200 ms is spoken for.
        #expect(take(2, &bucket, at: .milliseconds(250)) == [.milliseconds(300), .milliseconds(400)])
    }

    @Test func itHoldsNoMoreThanItsBurst() {
        var bucket = TokenBucket(rate: 10, burst: 3)
        _ = take(10, &bucket, at: .zero)
        let later = Duration.seconds(3_600)
        #expect(take(4, &bucket, at: later) == [later, later, later, later + .milliseconds(100)])
    }

    @Test func inTheLongRunItIsTheRate() {
        var bucket = TokenBucket(rate: 3, burst: 1)
        var now = Duration.zero
        for _ in 0..<3_000 { now = bucket.takeToken(now: now) }
        #expect(now > .seconds(999) && now <= .seconds(1_000))
    }

    @Test func nonsenseIsNamedAndCountsAsOne() throws {
        try TokenBucket(rate: 1, burst: 1).validate()
        for var bucket in [TokenBucket(rate: 0, burst: 1), TokenBucket(rate: 1, burst: -1)] {
            let error = #expect(throws: SupervisionError.self) { try bucket.validate() }
            #expect(error?.code == .invalidTokenBucket)
            #expect(error?.message.contains("give") == true)
            #expect(take(3, &bucket, at: .zero) == [.zero, .seconds(1), .seconds(2)])
        }
    }
}
