import Foundation

/// The clocks and the random numbers of a queue.
package struct ReplayClock: Sendable {
    /// The wall clock, in milliseconds since 1970. The queue's time is computed from it (``QueueClock``).
    var now: @Sendable () -> Int64
    /// The time since the machine was started, in milliseconds, by a clock that cannot be set. It includes sleep, and
    /// decides when a lease ends.
    var uptime: @Sendable () -> Int64
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
        now: { Date().milliseconds },
        uptime: { BootClock.milliseconds },
        boot: BootClock.id,
        sleep: ContinuousClock(),
        draw: { .random(in: 0..<1) }
    )
}

/// The clock that counts from the start of the machine.
enum BootClock {
    /// The time since the start, including sleep.
    static var milliseconds: Int64 {
        var time = timespec()
        #if canImport(Darwin)
        // On Darwin, this clock continues while the machine sleeps.
        clock_gettime(CLOCK_MONOTONIC, &time)
        #else
        clock_gettime(CLOCK_BOOTTIME, &time)
        #endif
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// The id of this start of the machine; empty if the system does not report one. Then the boot id does not show
    /// which owners have died; their leases and locks do.
    static let id: String = {
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
