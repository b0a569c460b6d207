import Diamond
import Foundation

/// The minimum cost of a shared exchange: the bare transport in a task of its own, which passes the result to waiting
/// callers. An engine needs such a task, because the exchange continues when its first caller is canceled.
extension Transport {
    /// Runs ``fetch(_:)`` in a task of its own, which begins in the calling thread.
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
    /// - Parameter floor: the ratio of the minimum cost.
    static func note(floor: Double) -> String {
        String(format: "%.2f with nothing but a task of its own around the transport", floor)
    }
}
