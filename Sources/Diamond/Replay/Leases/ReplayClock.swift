import Foundation

/// The clocks and the random numbers of a queue.
package struct ReplayClock: Sendable {
    /// The wall clock. The queue's time is computed from it (``QueueClock``).
    var now: @Sendable () -> WallTime
    /// The clock that decides when a lease ends.
    var uptime: @Sendable () -> Uptime
    /// The id of the machine's current boot.
    var boot: String
    /// The clock for waits.
    var sleep: any Clock<Duration>
    /// Returns a random number from 0 up to 1, for random delays.
    var draw: @Sendable () -> Double
    /// The maximum time for which a closing queue waits for attempts that do not react to their cancellation, by a
    /// clock that always runs.
    var endTimeout = Duration.seconds(5)
    /// The clock for the end of a run. Unlike ``sleep`` in a test, it always runs.
    var endClock: any Clock<Duration> = ContinuousClock()

    package static let system = ReplayClock(
        now: { .now },
        uptime: { .now },
        boot: bootID,
        sleep: ContinuousClock(),
        draw: { .random(in: 0..<1) }
    )

    /// The id of this start of the machine; empty if the system does not report one. Then the boot id does not show
    /// which owners have died; their leases and locks do.
    private static let bootID: String = {
        #if canImport(Darwin)
        var size = 0
        guard sysctlbyname("kern.bootsessionuuid", nil, &size, nil, 0) == 0 else { return "" }
        var text = [UInt8](repeating: 0, count: size)
        guard sysctlbyname("kern.bootsessionuuid", &text, &size, nil, 0) == 0 else { return "" }
        return String(decoding: text.prefix { $0 != 0 }, as: UTF8.self)
        #else
        let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
        return text?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
        #endif
    }()
}
