#if Tools
import Diamond
import DiamondInspection

/// The state of a server, as `doctor` prints it.
struct ServerHealth {
    private(set) var form: JSONObject = [:]
    private(set) var lines: [String] = []
    private(set) var problems: [CacheDiagnosis.Problem] = []
    /// Whether it has no cache or queue that programs can use.
    private(set) var isUnusable = false

    init(ofCache url: ServerURL) throws {
        do {
            let cache = try url.cache(nil)
            let totals = try cache.totals()
            let name = cache.server ?? ""
            form = ["kind": "cache", "name": name, "entries": totals.entries, "bodyBytes": totals.bodyBytes]
            lines = ["cache     \(name)", "entries   \(totals.entries), bodies \(Quantity.bytes(totals.bodyBytes))"]
        } catch let error as CacheError {
            fail("cache", error.message)
        }
    }

    init(ofQueue url: ServerURL) async throws {
        do {
            let storage = try await url.replayStorage(create: false)
            let counts = CountsForm(try storage.counts())
            let holds = try storage.holds().map { HoldForm($0) }
            let senders = try await storage.owners().count { !$0.isDead }
            let unsent = try storage.unsentCount(besides: nil)
            form = [
                "kind": "queue", "name": storage.name, "counts": counts, "holds": holds, "senders": senders,
                "unsentJobs": unsent > 0 ? unsent : nil,
            ]
            lines = ["queue     \(storage.name)", "jobs      \(counts.text)", "senders   \(senders)"]
            if unsent > 0 { lines.append("unsent    \(unsent), which no process sends now: run a program that does") }
            lines += holds.map(\.line)
            problems = try await storage.inspection.check().map { finding in
                let what = finding.id.map { "job \($0) of the queue is damaged: \(finding.what)" }
                return .init(what: what ?? "the queue: \(finding.what)", remedy: "'cachectl verify' lists all damage")
            }
        } catch let error as ReplayError {
            fail("queue", error.message)
        }
    }

    private mutating func fail(_ kind: String, _ message: String) {
        form = ["kind": kind]
        problems = [.init(what: "the \(kind) cannot be used", remedy: message)]
        isUnusable = true
    }
}
#endif
