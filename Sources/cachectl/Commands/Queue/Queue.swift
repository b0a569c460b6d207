#if Tools
import ArgumentParser

struct Queue: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists and manages the requests that wait to be sent.",
        discussion: """
            The queue is the file replay.sqlite in the store. For a default store it is in the platform's data \
            directory, not in the cache directory. Running programs may use it at the same time; they notice changes \
            within a second. To copy a queue in use, run export: the newest jobs are in the write-ahead log until \
            the last program closes the file.

            EXAMPLE
              cachectl queue list --state dead

            STATES
              ready        can be sent after earlier jobs of its ordering key, unless the queue is held
              waiting      waits for its time: added with a delay, or failed and to be retried
              running      being sent
              held         held by itself, its ordering key, its identity or its lane
              done         sent, or discarded
              dead         failed for good, unless redriven
              needsReview  may have been processed; sending it again could do harm
            """,
        subcommands: [
            QueueList.self, QueueShow.self, QueueAdd.self, QueueRetry.self, QueueHold.self, QueueRelease.self,
            QueueDiscard.self, QueueRedrive.self, QueueEdit.self, QueueHistory.self, QueueKeys.self, QueueWatch.self,
            QueueExport.self, QueueImport.self, QueueReplay.self,
        ]
    )
}
#endif
