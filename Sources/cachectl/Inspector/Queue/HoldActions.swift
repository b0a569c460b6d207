#if Tools
import Diamond

/// Holding and releasing a lane, a key, an identity or the whole queue, as `cachectl queue hold` and `release` do.
enum HoldActions {
    static let routes = [
        Route.action("/queue/hold") { request, inspector in
            let hold = try hold(kind: request.form["kind"], name: request.form[text: "name"])
            try await inspector.queue().hold(hold, reason: request.form["reason"])
            return .redirect("/queue")
        },
        Route.action("/queue/release") { request, inspector in
            let queue = try await inspector.queue()
            let (kind, name) = (request.form["kind"], request.form[text: "name"])
            let held = try queue.holds().map(\.hold).first { HoldForm($0).matches(kind: kind, name: name) }
            guard let held else {
                throw PageProblem(status: 409, message: "It is no longer held: another program has released it.")
            }
            _ = try await queue.release(held)
            return .redirect("/queue")
        },
    ]

    private static func hold(kind: String, name: String) throws(PageProblem) -> ReplayHold {
        switch (kind, name.isEmpty) {
        case ("queue", true): return .queue
        case ("queue", false): throw PageProblem(message: "The whole queue has no name: leave the name out.")
        case ("lane", false): return .lane(Lane(name))
        case ("key", false): return .key(name)
        case ("identity", false): return .identity(name)
        default: throw PageProblem(message: "Say what to hold: a lane, an ordering key or an identity needs a name.")
        }
    }
}

extension HoldForm {
    fileprivate func matches(kind: String, name: String) -> Bool {
        self.kind == kind && (self.name ?? "").utf8.elementsEqual(name.utf8)
    }
}
#endif
