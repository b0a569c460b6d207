#if Tools
import ArgumentParser

struct Queue: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows and tends the requests that are kept to be sent later.",
        discussion: """
            The queue is the file replay.sqlite of the store; of the default store it is in the platform's directory for \
            data, not in that for caches. It may be in use by running programs: they notice within a second. When the \
            last of them has closed it, all is in that file; while one uses it, what is newest is in the log beside it: \
            copy it with export then.

            STATES
              ready        sent when those before it in its line have been
              waiting      for its time: added for later, or failed and tried again
              running      being sent
              held         until it, its ordering key, its identity or its lane is released
              done         sent, or discarded
              dead         will not be sent any more, unless it is redriven
              needsReview  may have been processed, and a second time could do harm
            """,
        subcommands: [
            QueueList.self, QueueShow.self, QueueAdd.self, QueueRetry.self, QueueHold.self, QueueRelease.self,
            QueueDiscard.self, QueueRedrive.self, QueueEdit.self, QueueHistory.self, QueueKeys.self, QueueWatch.self,
            QueueExport.self, QueueImport.self, QueueReplay.self,
        ]
    )
}
#endif
