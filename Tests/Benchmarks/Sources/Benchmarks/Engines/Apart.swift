import Diamond
import Foundation

/// What an engine cannot do without where an exchange goes on when whoever has asked first is canceled and others wait: a
/// task of its own, which tells those who wait. The same around the bare transport is the least that a request can cost.
extension Transport {
    /// ``fetch(_:)`` in a task of its own, which begins in the calling thread.
    func fetchApart(_ url: String) async throws {
        try await withUnsafeThrowingContinuation { (caller: UnsafeContinuation<Void, any Error>) in
            detach {
                do { caller.resume(returning: try await fetch(url)) } catch { caller.resume(throwing: error) }
            }
        }
    }

    private func detach(_ body: @escaping @Sendable () async -> Void) {
        if #available(macOS 26, *) { Task.immediateDetached { await body() } } else { Task.detached { await body() } }
    }
}

extension Benchmark {
    /// - Parameter floor: the ratio of what cannot be done without.
    static func note(floor: Double) -> String {
        String(format: "%.2f with nothing but a task of its own around the transport", floor)
    }
}
