import Foundation

/// The clocks that the queue goes by.
package struct ReplayClock: Sendable {
    /// The wall clock, in milliseconds since 1970. It decides when a job's time comes, and is shown to people.
    var now: @Sendable () -> Int64
    /// The time since the machine was started, in milliseconds, by a clock that cannot be set. It includes sleep, and
    /// decides when a lease ends.
    var uptime: @Sendable () -> Int64
    /// The id of the machine's current boot.
    var boot: String
    /// The clock for waits.
    var sleep: any Clock<Duration>
    /// Returns a random number from 0 up to 1, for delays that are drawn.
    var draw: @Sendable () -> Double
    /// The time an owner's end waits for attempts that do not react to their cancellation, by a clock that always runs.
    var patience = Duration.seconds(5)

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
    static var milliseconds: Int64 {
        var time = timespec()
        #if canImport(Darwin)
        // The one that goes on while the machine sleeps.
        clock_gettime(CLOCK_MONOTONIC, &time)
        #else
        clock_gettime(CLOCK_BOOTTIME, &time)
        #endif
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Tells this start of the machine from every other. Empty where the system does not say: then leases alone tell who
    /// has died.
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
