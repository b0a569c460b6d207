import DiamondSQLite
package import Foundation

/// A job copied from one queue to another. Its count of attempts starts again there.
package struct ReplayCopy: Sendable {
    package var request: Request
    /// The earliest time at which it is sent; `nil` for now.
    package var runAt: Date?
    /// The time at which it expires; `nil` for its policy's time, from now on.
    package var expiresAt: Date?
    /// The start of the first attempt that may have been processed with an unknown outcome.
    package var unknownSince: Date?
    /// Whether it is held until a person releases it.
    package var isHeld: Bool
    /// Its origin, for display.
    package var place: String?

    package init(
        _ request: Request,
        runAt: Date? = nil,
        expiresAt: Date? = nil,
        unknownSince: Date? = nil,
        isHeld: Bool = false
    ) {
        self.request = request
        self.runAt = runAt
        self.expiresAt = expiresAt
        self.unknownSince = unknownSince
        self.isHeld = isHeld
    }

    fileprivate func placed(_ error: ReplayError) -> ReplayError {
        ReplayError(error.code, "\(place.map { "\($0): " } ?? "")\(error.message)")
    }
}

extension ReplayQueue {
    /// Throws if a request cannot be stored, for example because it has a secret.
    package static func check(_ copies: [ReplayCopy]) throws(ReplayError) {
        for copy in copies {
            do throws(ReplayError) {
                _ = try ReplayDraft(copy.request, rules: KeyRules(), freshKey: "")
            } catch {
                throw copy.placed(error)
            }
        }
    }

    /// Adds all of them, in their order, or none.
    ///
    /// - Returns: as ``enqueue(_:after:)`` does, of each.
    /// - Throws: ``ReplayError``; then nothing was added.
    @discardableResult
    package func enqueue(_ copies: [ReplayCopy]) async throws(ReplayError) -> [ReplayJob.ID?] {
        var drafts: [ReplayDraft] = []
        for copy in copies {
            do throws(ReplayError) {
                let moment = try moment()
                func time(_ date: Date?) -> Int64? { date.map { moment.time(ofWall: $0.milliseconds) } }
                var draft = try await draft(of: copy.request, at: time(copy.runAt))
                draft.expiresAt = time(copy.expiresAt)
                draft.history.unknownAt = time(copy.unknownSince)
                draft.isHeld = copy.isHeld
                drafts.append(draft)
            } catch {
                throw copy.placed(error)
            }
        }
        return try await add(drafts)
    }
}
