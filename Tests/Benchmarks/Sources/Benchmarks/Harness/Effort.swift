import Foundation

/// The time that some work took.
struct Effort {
    /// Seconds of processor time of this process, without other processes such as the server.
    var processor: Double
    /// Seconds of elapsed time.
    var wall: Double

    static func of(_ work: () async throws -> Void) async rethrows -> Effort {
        let start = now
        try await work()
        let end = now
        return Effort(processor: end.processor - start.processor, wall: end.wall - start.wall)
    }

    private static var now: Effort {
        Effort(processor: seconds(CLOCK_PROCESS_CPUTIME_ID), wall: seconds(CLOCK_MONOTONIC))
    }

    static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
