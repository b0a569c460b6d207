/// Moves to the server the jobs that ended engines have left in their directories, at once and every ten seconds.
final class SpillRescue: Sendable {
    private static let pause = Duration.seconds(10)

    let directories: SpillDirectories
    private let task: Task<Void, Never>

    /// - Parameters:
    ///   - directories: the directories. Those of living engines are left alone.
    ///   - remote: the storage on the server.
    ///   - clock: the clock for the time between two looks.
    ///   - report: receives the first error for each directory, the next one after its jobs have been moved, and an
    ///     error for each job that the server refuses.
    init(
        _ directories: SpillDirectories, to remote: any ReplayStorage, clock: any Clock<Duration>,
        reportingFailure report: @escaping @Sendable (ReplayError) -> Void
    ) {
        self.directories = directories
        // Detached, so that it has no task-local values of a caller.
        task = Task.detached {
            var reported: Set<Int> = []
            repeat {
                for number in directories.numbers where !Task.isCancelled {
                    do throws(ReplayError) {
                        let isFree = try await directories.rescue(number, to: remote, reportingRefusal: report)
                        if isFree { reported.remove(number) }
                    } catch {
                        guard reported.insert(number).inserted else { continue }
                        let what = "the jobs in \(directories.path(of: number)) cannot be moved to \(remote.name)"
                        report(ReplayError(error.code, "\(what): \(error.message)"))
                    }
                }
            } while (try? await clock.sleep(for: Self.pause)) != nil
        }
    }

    deinit { stop() }

    /// Ends the moves after the one that is under way.
    func stop() { task.cancel() }

    /// Waits for the end of the move that is under way after ``stop()``.
    func ended() async { await task.value }
}
