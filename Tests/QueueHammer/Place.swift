import Diamond
import Foundation

#if Postgres && canImport(DiamondPostgres)
import DiamondPostgres
#endif

/// A queue in a directory, or in a PostgreSQL database.
enum Place {
    case directory(URL)
    case server(ReplayQueue)

    init(_ text: String) async throws {
        #if Postgres && canImport(DiamondPostgres)
        if text.hasPrefix("postgresql://") {
            self = .server(try await ReplayQueue(PostgresAddress(text)))
            return
        }
        #endif
        self = .directory(URL(filePath: text))
    }

    /// The store of an engine that sends the queue's jobs.
    var store: Store? { if case .directory(let url) = self { Store(directory: url) } else { nil } }

    /// - Parameter engine: the engine that sends its jobs; `nil` if this process sends none.
    func queue(of engine: Engine? = nil) throws -> ReplayQueue {
        switch self {
        case .directory(let url): try engine?.queue() ?? ReplayQueue(Store(directory: url))
        case .server(let queue): queue
        }
    }

    /// Returns a replayer that sends through an engine.
    func replayer(through engine: Engine, passing pass: @escaping @Sendable (ReplayFaultPoint) -> Void) throws
        -> Replayer
    {
        guard case .server(let queue) = self else { return try engine.replayer(width: 4, passing: pass) }
        return Replayer(queue, width: 4, reachability: SystemReachability(), pass: pass) { attempt in
            guard await attempt.begin() else {
                return JobResult(outcome: .failed(.returned, code: "cancelled", message: "it has not begun"))
            }
            return JobResult(outcome: await Self.outcome(of: attempt.request, through: engine))
        }
    }

    private static func outcome(of request: Request, through engine: Engine) async -> ReplayOutcome {
        var request = request
        request.replay = .never
        request.retry = .never
        do throws(ConnectionError) {
            let status = try await engine.send(request).status.code
            // The first request of the key may be running.
            return .answered(status: status, isTransient: status == 409)
        } catch {
            return .failed(.unknown, code: error.code.description, message: error.message)
        }
    }
}
