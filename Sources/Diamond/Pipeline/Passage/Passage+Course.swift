import Foundation
import HTTPTypes

/// What becomes of a passage on its way.
extension Passage {
    /// Sets out on somebody's behalf.
    mutating func setOut(for asker: Asker) {
        if let claim = asker.claim { epoch = claim.epoch }
        change {
            ($0.asker, $0.parent) = (asker, asker.request)
            if asker.upload != nil { $0.marks.insert(.nobodys) }
        }
    }

    /// What it belongs to has begun.
    mutating func belong(to parent: ActivityInterval.ID) { change { $0.parent = parent } }

    /// The same, its time begun.
    func begun(at begin: Int64?) -> Passage {
        var passage = self
        passage.change { $0.begin = begin }
        return passage
    }

    /// The same behind the answer, where nobody waits for it: what is collected then, to be stored, is bound by the engine
    /// alone, where the caller's bound was one of what goes elsewhere.
    func behindAnswer(in parent: ActivityInterval.ID) -> Passage {
        var (passage, asker) = (self, asker)
        let isBehindSink = asker.sink != nil
        asker = asker.behindAnswer
        passage.change {
            if isBehindSink { $0.marks.insert(.behindSink) } else { $0.marks.remove(.behindSink) }
            ($0.begin, $0.parent, $0.asker) = (nil, parent, asker)
        }
        return passage
    }

    /// The same where cookies of a jar go along: without an identity nobody knows whose its answer is.
    func considering(_ cookies: CookieJar?, at now: Date) -> Passage {
        guard let cookies, identity != nil, wire.identity == nil, wire.headers[.cookie] == nil,
            cookies.has(for: url, of: nil, at: now)
        else { return self }
        var passage = self
        passage.change { $0.marks.insert(.nobodys) }
        return passage
    }

    /// Whether a redirect can be followed: not where it repeats a body that could be read only once, and was.
    func canFollow(_ response: Response) -> Bool {
        asker.upload?.isConsumed != true || Redirect.dropsBody(response.status.code, wire.method)
    }

    /// Whether what it has waited for is not its answer, and it asks again: for itself where that was for another alone, and,
    /// once, where time was up that it has still.
    mutating func asksAgain(after outcome: Flight.Outcome) -> Bool {
        guard case .failure(let error) = outcome else { return false }
        if error.code == .unshared {
            change { $0.marks.insert(.asksAlone) }
            return true
        }
        guard ownEnd == nil, error.ownEnd != nil else { return false }
        change { $0.timeUp = .some(error) }
        return true
    }

    /// Whether it failed on what is stored alone, and is looked up again: where another has taken its place meanwhile that
    /// is found, else nothing.
    mutating func looksAgain(after error: ConnectionError) -> Bool {
        guard error.code == .unread else { return false }
        if (error.cause as? CacheError)?.code != .entryGone { change { $0.marks.insert(.unreadable) } }
        return true
    }

    /// Where what a server has confirmed could not be read, the next question has what is left of the time.
    mutating func goOn(after outcome: Flight.Outcome) {
        guard case .failure(let error) = outcome, error.code == .unread else { return }
        change {
            $0.marks.insert(.wasAsked)
            $0.begin = $0.begin ?? error.ownBegin
        }
    }
}
