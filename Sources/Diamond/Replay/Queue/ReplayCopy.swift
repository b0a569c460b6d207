import DiamondSQLite
package import Foundation

/// A job to be copied from one queue to another. Its count of attempts starts again there.
package struct ReplayCopy: Sendable {
    package var request: Request
    /// The earliest time at which the job is sent; `nil` for now.
    package var runAt: Date?
    /// The time at which the job expires; `nil` for the expiry of its policy, from now on.
    package var expiresAt: Date?
    /// The start of the first attempt that may have been processed with an unknown outcome.
    package var unknownSince: Date?
    /// Whether the job is held until a person releases it.
    package var isHeld: Bool
    /// The origin of the job, such as a file and line, for error messages.
    package var origin: String?

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

    /// Returns an error with the origin of this job in its message.
    fileprivate func located(_ error: ReplayError) -> ReplayError {
        ReplayError(error.code, "\(origin.map { "\($0): " } ?? "")\(error.message)")
    }
}

extension ReplayQueue {
    /// Checks that all requests can be stored.
    ///
    /// - Throws: ``ReplayError`` if one cannot, for example because it has a secret.
    package static func check(_ copies: [ReplayCopy]) throws(ReplayError) {
        for copy in copies {
            do throws(ReplayError) {
                _ = try ReplayDraft(copy.request, rules: KeyRules(), freshKey: "")
            } catch {
                throw copy.located(error)
            }
        }
    }

    /// Adds all jobs, in their order, or none.
    ///
    /// - Returns: for each job, the result of ``enqueue(_:after:)``.
    /// - Throws: ``ReplayError``; then nothing was added.
    @discardableResult
    package func enqueue(_ copies: [ReplayCopy]) async throws(ReplayError) -> [ReplayJob.ID?] {
        var drafts: [ReplayDraft] = []
        for copy in copies {
            do throws(ReplayError) {
                let moment = try moment()
                func time(_ date: Date?) -> QueueTime? { date.map { moment.time(ofWall: WallTime($0)) } }
                var draft = try await draft(of: copy.request, at: time(copy.runAt))
                draft.expiresAt = time(copy.expiresAt)
                draft.history.unknownSince = time(copy.unknownSince)
                draft.isHeld = copy.isHeld
                // The job that creates the object may be dead, and stay where it is.
                draft.mayLackObjects = true
                drafts.append(draft)
            } catch {
                throw copy.located(error)
            }
        }
        return try await add(drafts)
    }
}
