#if Tools
import Foundation
import Testing

@testable import Diamond
@testable import cachectl

@Suite("The page of a job") struct JobPageTests {
    let shell = Shell()

    /// Returns the page of a job after an attempt with this outcome.
    private func page(after outcome: ReplayOutcome?) async throws -> JobPage {
        let queue = try shell.queue()
        var request = Request("https://a.example/1", method: .post, body: .json(["id": 9_007_199_254_740_993]))
        request.replay = ReplayPolicy(.durable, orderingKey: "\u{202E}<b>")
        let id = try #require(try await queue.enqueue(request))
        if let outcome { try await shell.attempt(outcome) }
        let text = JobText(
            job: try #require(try queue.job(id)), request: try queue.request(of: id),
            failures: try queue.failures(of: id), awaited: [])
        return JobPage(text, difference: nil, refusals: [], isWritable: true)
    }

    @Test(
        arguments: [
            (nil, "ready", ["retry", "hold"], ["expires at"]),
            (ReplayOutcome.answered(status: 400), "dead", ["redrive"], []),
            (
                .failed(.unsent, code: "cannotConnect", message: "refused"), "waiting", ["retry", "hold"],
                ["retry at", "expires at"]
            ),
        ] as [(ReplayOutcome?, String, [String], [String])])
    func `has the state, the times and the actions`(
        outcome: ReplayOutcome?, state: String, actions: [String], timers: [String]
    ) async throws {
        let page = try await page(after: outcome)
        #expect(page.steps.filter(\.isCurrent).map(\.name) == [state] && page.steps.count == 7)
        #expect(page.actions == actions && page.timers.map(\.name) == timers)
        #expect(page.allowsDiscard && page.allowsEdit && page.errors.count == page.attempts.count)
    }

    @Test func `keeps the digits of numbers, and shows invisible characters`() async throws {
        let page = try await page(after: nil)
        #expect(page.request?.contains("9007199254740993") == true)
        #expect(page.facts.contains { $0.name == "key" && $0.value.hasPrefix("\\u{202E}<b>, ordered") })
        let html = Templates.render("job", ["page": page])
        #expect(html.contains("&lt;b&gt;") && !html.contains("<b>,") && html.contains("aria-current=\"step\""))
    }
}
#endif
