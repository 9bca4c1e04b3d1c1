// Made from the OpenAPI document by `npm run golden`: not to be edited.

/** The request and the answer of each path, by method. */
export interface Api {
  get: {
    /** List contacts, newest first; search them by a part of their address */
    '/contacts': {
      request: {
        query?: {
          /** Maximum number of items per page */
          limit?: number;
          /** The `cursor` of the previous page, or the id of a contact */
          cursor?: string;
          /** Part of the address, in any case; % and _ are plain characters */
          search?: string;
          /** The whole address, in any case */
          email?: string;
          /** Only subscribed contacts, or only unsubscribed ones */
          subscribed?: 'true' | 'false';
          /** The state of the newest opt-in request */
          consent?: 'pending' | 'confirmed' | 'expired';
          /** Sort field */
          sort?: 'createdAt' | 'email';
          /** By default asc for email, desc otherwise */
          dir?: 'asc' | 'desc';
        };
      };
      answer: ContactList;
    };
    /** Get one contact */
    '/contacts/{id}': {
      request: {
        path: {
          /** The id of the contact */
          id: string;
        };
      };
      answer: Contact;
    };
    /** List the campaigns */
    '/campaigns': {
      request: {
        query?: {
          /** Number of the page, from 1 */
          page?: number;
          /** Items per page */
          pageSize?: number;
          /** Sort field */
          sort?: 'createdAt' | 'name' | 'updatedAt';
          /** Ascending or descending */
          dir?: 'asc' | 'desc';
          /** Only those with this status */
          status?: 'DRAFT' | 'SCHEDULED' | 'SENDING' | 'PAUSED' | 'SENT' | 'CANCELLED';
          /** Part of name, subject or sender, in any case */
          search?: string;
          /** Only archived ones, or only the others */
          archived?: 'true' | 'false';
        };
      };
      answer: CampaignPage;
    };
    /** Get one campaign */
    '/campaigns/{id}': {
      request: {
        path: {
          /** The id of the campaign */
          id: string;
        };
      };
      answer: {
        success: true;
        data: Campaign;
      };
    };
    /** Get the results of a campaign */
    '/campaigns/{id}/stats': {
      request: {
        path: {
          /** The id of the campaign */
          id: string;
        };
      };
      answer: {
        success: true;
        data: {
          totalRecipients: number;
          /** Accepted by the provider */
          sentCount: number;
          /** Reported as delivered */
          deliveredCount: number;
          /** Accepted by SMTP, which reports no deliveries, and not bounced; absent if no mail went that way */
          assumedDeliveredCount?: number;
          /** Absent if assumedDeliveredCount is. mixed: some deliveries were reported */
          deliveryBasis?: 'assumed' | 'mixed';
          openedCount: number;
          clickedCount: number;
          bouncedCount: number;
          complainedCount: number;
          unsubscribedCount: number;
          /** Mail that the send policy or a ramp holds now. Mail that waits for a local time is in progress.scheduledCount */
          heldCount: number;
          /** Mail whose template could not be rendered */
          renderedPlainlyCount: number;
          /** Mail that may or may not have been accepted */
          uncertainCount: number;
          /** Recipients by outcome: the sum is totalRecipients */
          outcomes: {
            /** Accepted by the provider, whatever followed */
            sent: number;
            /** Refused by the provider */
            failed: number;
            /** Will not be sent */
            withheld: number;
            /** Held back by the send policy */
            held: number;
            /** Still to be sent */
            pending: number;
            /** Possibly accepted: the outcome is unknown */
            unknown: number;
          };
          /** Number of those that were not sent, by reason; reasons without any are absent */
          reasons: Record<string, number>;
          leftOut: GetCampaignStatsLeftOut | null;
          /** Only with a goal */
          goal?: GoalStats;
          /** Percent of totalRecipients that were delivered; 0 without recipients */
          reachRate: number;
          /** Mail with an open by a person */
          humanOpenedCount: number;
          /** Mail with opens by machines alone */
          machineOpenedCount: number;
          /** Mail with a click by a person */
          humanClickedCount: number;
          /** Mail with clicks by machines alone */
          machineClickedCount: number;
          /** Percent of sentCount */
          humanOpenRate: number;
          /** Percent of sentCount */
          humanClickRate: number;
          /** While it is SENDING, at most 5 seconds old */
          progress: GetCampaignStatsProgress | null;
          /** The percentage of deliveredCount and assumedDeliveredCount together */
          deliveryRate: number;
          /** Percent of sentCount; 0 when nothing was sent */
          openRate: number;
          /** Percent of sentCount; 0 when nothing was sent */
          clickRate: number;
          /** Percent of sentCount; 0 when nothing was sent */
          bounceRate: number;
          /** Percent of sentCount; 0 when nothing was sent */
          complaintRate: number;
          /** Percent of sentCount; 0 when nothing was sent */
          unsubscribeRate: number;
        };
      };
    };
    /** List the recipients of a campaign and what became of their mail */
    '/campaigns/{id}/recipients': {
      request: {
        path: {
          /** The id of the campaign */
          id: string;
        };
        query?: {
          /** Maximum number of items per page */
          limit?: number;
          /** The `cursor` of the previous page */
          cursor?: string;
          /** An outcome, or an event of mail that was sent */
          outcome?: 'sent' | 'failed' | 'withheld' | 'held' | 'pending' | 'unknown' | 'delivered' | 'opened' | 'clicked' | 'humanOpened' | 'humanClicked' | 'bounced' | 'complained' | 'unsubscribed' | 'converted';
          /** A reasonCode. Contacts that a campaign has left out are listed only by their reason */
          reason?: 'provider_refused' | 'recipient_refused' | 'provider_unavailable' | 'contact_unsubscribed' | 'topic_unsubscribed' | 'suppressed' | 'held_out' | 'frequency_cap' | 'late' | 'billing_limit' | 'domain_not_verified' | 'project_disabled' | 'campaign_cancelled' | 'execution_ended' | 'cancelled' | 'message_too_large' | 'no_provider' | 'contact_deleted' | 'restored' | 'quiet_hours' | 'warm_up' | 'operator' | 'awaiting_start' | 'campaign_paused' | 'experiment' | 'schedule' | 'retry' | 'queued' | 'delivery_unsettled' | 'delivery_unknown' | 'unsubscribed_at_freeze' | 'topic_unsubscribed_at_freeze';
          /** Part of the address of the contact, in any case */
          search?: string;
          /** A linkId: only mail in which this link was clicked */
          link?: string;
          /** Id of an arm: only mail of this arm of the experiment */
          arm?: string;
        };
      };
      answer: RecipientList;
    };
    /** Explain why a contact gets a campaign or does not */
    '/campaigns/{id}/recipients/{contactId}': {
      request: {
        path: {
          /** The id of the campaign */
          id: string;
          /** The id of a contact */
          contactId: string;
        };
      };
      answer: {
        included: boolean;
        reason: 'sent' | 'withheld' | 'refused' | 'not_in_audience' | 'unsubscribed_at_freeze' | 'topic_unsubscribed_at_freeze' | 'created_after_freeze' | 'pending';
        /** null: the contact is no recipient */
        outcome: 'sent' | 'failed' | 'withheld' | 'held' | 'pending' | 'unknown' | null;
        /** null: it was sent */
        reasonCode: 'provider_refused' | 'recipient_refused' | 'provider_unavailable' | 'contact_unsubscribed' | 'topic_unsubscribed' | 'suppressed' | 'held_out' | 'frequency_cap' | 'late' | 'billing_limit' | 'domain_not_verified' | 'project_disabled' | 'campaign_cancelled' | 'execution_ended' | 'cancelled' | 'message_too_large' | 'no_provider' | 'contact_deleted' | 'restored' | 'quiet_hours' | 'warm_up' | 'operator' | 'awaiting_start' | 'campaign_paused' | 'experiment' | 'schedule' | 'retry' | 'queued' | 'delivery_unsettled' | 'delivery_unknown' | 'not_in_audience' | 'unsubscribed_at_freeze' | 'topic_unsubscribed_at_freeze' | 'created_after_freeze' | null;
        emailId: string | null;
        /** Time at which the audience was fixed */
        frozenAt: string | null;
      };
    };
    /** Get the numbers and the decision of an experiment */
    '/campaigns/{id}/experiment': {
      request: {
        path: {
          /** The id of the campaign */
          id: string;
        };
      };
      answer: {
        success: true;
        data: Experiment;
      };
    };
    /** List the links of a campaign with their clicks */
    '/campaigns/{id}/links': {
      request: {
        path: {
          /** The id of the campaign */
          id: string;
        };
      };
      answer: LinkList;
    };
    /** List the mail of the project, newest first */
    '/emails': {
      request: {
        query?: {
          /** Maximum number of items per page */
          limit?: number;
          /** The `cursor` of the previous page */
          cursor?: string;
          /** The id of a contact */
          contactId?: string;
          /** The id of a campaign */
          campaignId?: string;
          /** The id of an execution */
          executionId?: string;
          /** Made from this template */
          templateId?: string;
          /** The whole address of the recipient, in any case */
          email?: string;
          /** Part of the address of the recipient, or of the subject, in any case */
          search?: string;
          /** Queued at this time or later */
          createdAfter?: string;
          /** Queued before this time */
          createdBefore?: string;
          /** Only those with this status */
          status?: 'PENDING' | 'SENDING' | 'SENT' | 'DELIVERED' | 'OPENED' | 'CLICKED' | 'BOUNCED' | 'COMPLAINED' | 'FAILED' | 'RECEIVED';
          /** Source of the mail */
          sourceType?: 'TRANSACTIONAL' | 'CAMPAIGN' | 'WORKFLOW' | 'INBOUND';
          /** Only mail with, or without, a `scheduledFor` */
          scheduled?: 'true' | 'false';
        };
      };
      answer: EmailSummaryList;
    };
    /** Get one mail with its body and its history */
    '/emails/{id}': {
      request: {
        path: {
          /** The id of the email */
          id: string;
        };
      };
      answer: Email;
    };
    /** Get the state of mail delivery */
    '/delivery': {
      request: {};
      answer: {
        due: number;
        oldestDueAt: string | null;
        sending: number;
        unknown: number;
        /** By the reason why it is not due */
        held: {
          /** Waits for its send time */
          schedule: number;
          /** Waits for the end of quiet hours */
          quiet_hours: number;
          /** Waits because of a frequency cap */
          frequency_cap: number;
          /** Messages that wait because of a ramp; absent: none */
          warm_up?: number;
          /** Waits for a decision after a restore of the database; absent: none */
          operator?: number;
          /** Waits for the next attempt */
          retry: number;
        };
        /** Messages sent per second, in the last 10 seconds */
        perSecond: number;
        /** Limit on the speed of waiting mail now; null: no mail waits, or nothing limits it */
        limitedBy: 'project_rate' | 'server_rate' | 'campaign_rate' | 'provider' | 'no_worker' | 'operator' | null;
        workers: number;
        /** Reports of other servers about mail by SMTP; absent without such mail */
        reports?: {
          /** When the last one came */
          lastAt: string | null;
          /** To the hour */
          last24Hours: {
            delivered: number;
            /** Bounces of all types */
            bounced: number;
            delayed: number;
            complained: number;
          };
        };
        /** Providers that routes name or that had mail in the last 24 hours; absent without routes. Of each kind, the newest 10000 messages of the project are counted */
        providers?: Array<DeliveryProvider>;
      };
    };
    /** List the timeline of a contact, newest first, with mail that did not reach it */
    '/contacts/{id}/timeline': {
      request: {
        path: {
          /** The id of the contact */
          id: string;
        };
        query?: {
          /** Maximum number of items per page */
          limit?: number;
          /** The `cursor` of the previous page */
          cursor?: string;
          /** Comma-separated types; all by default */
          types?: string;
        };
      };
      answer: TimelineEntryList;
    };
    /** Get the progress of an erasure, and its receipt */
    '/erasures/{id}': {
      request: {
        path: {
          /** The id of the erasure */
          id: string;
        };
      };
      answer: Erasure;
    };
    /** Export all data of a contact, as one file */
    '/contacts/{id}/export': {
      request: {
        path: {
          /** The id of the contact */
          id: string;
        };
      };
      answer: ContactExport;
    };
    /** List the consent log of a contact */
    '/contacts/{id}/consent': {
      request: {
        path: {
          /** The id of the contact */
          id: string;
        };
      };
      answer: Array<ConsentLine>;
    };
    /** List all topics with the choices of a contact */
    '/contacts/{id}/topics': {
      request: {
        path: {
          /** The id of the contact */
          id: string;
        };
      };
      answer: Array<ContactTopic>;
    };
    /** List the topics, oldest first: the kinds of marketing mail that contacts can choose */
    '/topics': {
      request: {};
      answer: Array<Topic>;
    };
    /** Get one topic */
    '/topics/{id}': {
      request: {
        path: {
          /** The id of the topic */
          id: string;
        };
      };
      answer: Topic;
    };
    /** List the segments that a contact is in now, by name */
    '/contacts/{id}/segments': {
      request: {
        path: {
          /** The id of the contact */
          id: string;
        };
      };
      answer: Array<SegmentOfContact>;
    };
    /** List the fields of contacts, each with its type and coverage */
    '/contacts/fields': {
      request: {};
      answer: {
        fields: Array<ContactField>;
        count: number;
      };
    };
    /** List the values of a field, the most frequent first */
    '/contacts/fields/{field}/values': {
      request: {
        path: {
          /** `data.plan`, or `plan`; or a standard field */
          field: string;
        };
        query?: {
          /** Maximum number of items per page */
          limit?: number;
        };
      };
      answer: {
        field: string;
        values: Array<string | number | boolean>;
        count: number;
        limit: number;
      };
    };
    /** List the uses of a field, and count the contacts that have it */
    '/contacts/fields/{field}/usage': {
      request: {
        path: {
          /** `data.plan`, or `plan`; or a standard field */
          field: string;
        };
      };
      answer: {
        usedInSegments: Array<{
          id: string;
          name: string;
        }>;
        usedInCampaigns: Array<{
          id: string;
          name: string;
        }>;
        usedInWorkflows: Array<{
          id: string;
          name: string;
        }>;
        /** Number of further items of each list that shows only its first 100, by the name of the list; absent when all are listed */
        more?: Record<string, number>;
        contactCount: number;
        canDelete: boolean;
      };
    };
    /** Get the progress and result of an import */
    '/contacts/import/{jobId}': {
      request: {
        path: {
          /** The `jobId` that was returned when the job began */
          jobId: string;
        };
      };
      answer: ImportJob;
    };
    /** List the imports of the project, newest first */
    '/imports': {
      request: {
        query?: {
          /** Maximum number of items per page */
          limit?: number;
          /** The `cursor` of the previous page */
          cursor?: string;
        };
      };
      answer: ImportJobList;
    };
    /** Get the progress and result of a bulk action */
    '/contacts/bulk/{jobId}': {
      request: {
        path: {
          /** The `jobId` that was returned when the job began */
          jobId: string;
        };
      };
      answer: BulkJob;
    };
    /** Get a contact's data for an opt-out page */
    '/contacts/public/{id}': {
      request: {
        path: {
          /** The id of the contact */
          id: string;
        };
      };
      answer: {
        id: string;
        email: string;
        subscribed: boolean;
        language: string;
      };
    };
    /** Ask if a host is the tracking host of a verified sender domain */
    '/t/host': {
      request: {
        query: {
          /** The name of the host */
          domain: string;
        };
      };
      answer: {
        domain: string;
      };
    };
    /** List the newest events */
    '/events': {
      request: {
        query?: {
          /** The name of an event */
          eventName?: string;
          /** Maximum number of items per page */
          limit?: number;
        };
      };
      answer: {
        events: Array<{
          id: string;
          name: string;
          data: Record<string, unknown> | null;
          projectId: string;
          contactId: string | null;
          emailId: string | null;
          createdAt: string;
          contact: ListEventsEventsItemContact | null;
        }>;
      };
    };
    /** List the newest events of a contact */
    '/events/contact/{contactId}': {
      request: {
        path: {
          /** The id of a contact */
          contactId: string;
        };
        query?: {
          /** Maximum number of items per page */
          limit?: number;
        };
      };
      answer: {
        events: Array<Event>;
      };
    };
    /** List the names of all events, the most frequent first */
    '/events/names': {
      request: {};
      answer: {
        eventNames: Array<string>;
      };
    };
    /** Count events by name, by default those of the last 30 days */
    '/events/stats': {
      request: {
        query?: {
          /** A date-time with an offset, or a date: its first moment */
          startDate?: string;
          /** A date-time with an offset, or a date: its first moment */
          endDate?: string;
        };
      };
      answer: Array<{
        name: string;
        count: number;
      }>;
    };
    /** List the uses of an event, and how often it was recorded */
    '/events/{eventName}/usage': {
      request: {
        path: {
          /** The name of an event */
          eventName: string;
        };
      };
      answer: {
        usedInSegments: Array<{
          id: string;
          name: string;
          condition: unknown;
        }>;
        usedInWorkflows: Array<{
          id: string;
          name: string;
        }>;
        usedInCampaigns: Array<{
          id: string;
          name: string;
        }>;
        /** Number of further items of each list that shows only its first 100, by the name of the list; absent when all are listed */
        more?: Record<string, number>;
        totalCount: number;
        uniqueContacts: number;
        canDelete: boolean;
      };
    };
    /** List the event subscriptions of the project, newest first */
    '/event-subscriptions': {
      request: {};
      answer: Array<EventSubscription>;
    };
    /** Get one event subscription with its backlog and the results of the last 24 hours */
    '/event-subscriptions/{id}': {
      request: {
        path: {
          /** An id as GET /event-subscriptions lists it */
          id: string;
        };
      };
      answer: CountedEventSubscription;
    };
    /** List the deliveries of an event subscription, newest event first */
    '/event-subscriptions/{id}/deliveries': {
      request: {
        path: {
          /** An id as GET /event-subscriptions lists it */
          id: string;
        };
        query?: {
          /** Maximum number of items per page */
          limit?: number;
          /** The `cursor` of the previous page */
          cursor?: string;
          /** Only those with this status */
          status?: 'pending' | 'delivered' | 'failed' | 'skipped';
          /** The name of an event */
          eventName?: string;
          /** The id of an event */
          eventId?: string;
        };
      };
      answer: EventDeliveryList;
    };
    /** Get one delivery with its last attempts */
    '/event-subscriptions/{id}/deliveries/{deliveryId}': {
      request: {
        path: {
          /** An id as GET /event-subscriptions lists it */
          id: string;
          /** The id of a delivery */
          deliveryId: string;
        };
      };
      answer: EventDelivery;
    };
    /** Get the progress of a replay */
    '/event-subscriptions/{id}/replay/{jobId}': {
      request: {
        path: {
          /** An id as GET /event-subscriptions lists it */
          id: string;
          /** The `jobId` that was returned when the job began */
          jobId: string;
        };
      };
      answer: EventReplay;
    };
    /** List the activity, newest first; without dates the first page shows 30 days */
    '/activity': {
      request: {
        query?: {
          /** A date-time with an offset, or a date: its first moment */
          startDate?: string;
          /** A date-time with an offset, or a date: its first moment */
          endDate?: string;
          /** Maximum number of items per page */
          limit?: number;
          /** The `cursor` of the previous page */
          cursor?: string;
          /** Comma-separated types; all by default */
          types?: string;
          /** The id of a contact */
          contactId?: string;
        };
      };
      answer: {
        data: Array<ActivityItem>;
        cursor?: string;
        hasMore: boolean;
      };
    };
    /** Count the activity, by default in the last 30 days */
    '/activity/stats': {
      request: {
        query?: {
          /** A date-time with an offset, or a date: its first moment */
          startDate?: string;
          /** A date-time with an offset, or a date: its first moment */
          endDate?: string;
        };
      };
      answer: {
        /** All events, including system events */
        totalEvents: number;
        totalEmailsSent: number;
        totalEmailsOpened: number;
        totalEmailsClicked: number;
        totalWorkflowsStarted: number;
        /** Percent of sent */
        openRate: number;
        /** Percent of sent */
        clickRate: number;
      };
    };
    /** Count the items of the last minutes */
    '/activity/recent-count': {
      request: {
        query?: {
          /** Minutes to look back */
          minutes?: number;
        };
      };
      answer: {
        count: number;
        minutes: number;
      };
    };
    /** List the types of items */
    '/activity/types': {
      request: {};
      answer: {
        types: Array<string>;
      };
    };
    /** List upcoming activity, soonest first */
    '/activity/upcoming': {
      request: {
        query?: {
          /** Maximum number of items per page */
          limit?: number;
          /** Days to look ahead */
          daysAhead?: number;
        };
      };
      answer: {
        activities: Array<ActivityItem>;
      };
    };
    /** Count the outcomes of emails by day */
    '/analytics/timeseries': {
      request: {
        query?: {
          /** A date-time with an offset, or a day of `timeZone` */
          startDate?: string;
          /** A date-time with an offset, or a day of `timeZone` */
          endDate?: string;
          /** Zone of the days */
          timeZone?: string;
        };
      };
      answer: Array<{
        date: string;
        emails: number;
        opens: number;
        clicks: number;
        bounces: number;
        delivered: number;
      }>;
    };
    /** List the best sent campaigns */
    '/analytics/top-campaigns': {
      request: {
        query?: {
          /** A date-time with an offset, or a date: its first moment */
          startDate?: string;
          /** A date-time with an offset, or a date: its first moment */
          endDate?: string;
          /** Maximum number of items per page */
          limit?: number;
          /** The number by which the list is sorted */
          metric?: 'openedCount' | 'clickedCount' | 'sentCount' | 'openRate' | 'clickRate';
        };
      };
      answer: Array<{
        id: string;
        name: string;
        subject: string;
        sentCount: number;
        openedCount: number;
        clickedCount: number;
        openRate: number;
        clickRate: number;
      }>;
    };
    /** Get a summary of the created campaigns */
    '/analytics/campaign-stats': {
      request: {
        query?: {
          /** A date-time with an offset, or a date: its first moment */
          startDate?: string;
          /** A date-time with an offset, or a date: its first moment */
          endDate?: string;
        };
      };
      answer: {
        total: number;
        /** SCHEDULED, SENDING or PAUSED */
        active: number;
        completed: number;
        averageOpenRate: number;
        averageClickRate: number;
      };
    };
    /** List the most frequent events, each with its trend */
    '/analytics/top-events': {
      request: {
        query?: {
          /** A date-time with an offset, or a date: its first moment */
          startDate?: string;
          /** A date-time with an offset, or a date: its first moment */
          endDate?: string;
          /** Maximum number of items per page */
          limit?: number;
        };
      };
      answer: Array<{
        name: string;
        count: number;
        /** Change in percent compared with as many days before; 100 when new */
        trend: number;
      }>;
    };
    /** Count what happened to mail by day, hour or minute */
    '/analytics/series': {
      request: {
        query?: {
          /** A date-time with an offset, or a day of `timeZone` */
          startDate?: string;
          /** A date-time with an offset, or a day of `timeZone` */
          endDate?: string;
          /** Length of the time that each point counts */
          interval?: 'day' | 'hour' | 'minute';
          /** Default: the zone of the send policy */
          timeZone?: string;
          /** Only the mail of this campaign */
          campaignId?: string;
          /** Only the mail of this workflow */
          workflowId?: string;
          /** A step of any version of the workflow */
          stepId?: string;
          /** Only mail made from this template */
          templateId?: string;
        };
      };
      answer: {
        interval: 'day' | 'hour' | 'minute';
        timeZone: string;
        /** Oldest first */
        points: Array<{
          /** Start of the day, hour or minute */
          at: string;
          sent: number;
          /** Reported as delivered */
          delivered: number;
          opens: number;
          clicks: number;
          /** Opened by a person, as far as it is known now */
          humanOpens: number;
          /** Clicked by a person, as far as it is known now */
          humanClicks: number;
          bounces: number;
          complaints: number;
          unsubscribes: number;
          /** Events that are the goal of the mail, at their time */
          conversions: number;
          /** Their value, rounded to six decimals */
          value: number;
        }>;
      };
    };
    /** List the executions of a workflow, newest start first */
    '/workflows/{id}/executions': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
        };
        query?: {
          /** Number of the page, from 1 */
          page?: number;
          /** Items per page */
          pageSize?: number;
          /** Only those with this status */
          status?: 'RUNNING' | 'WAITING' | 'COMPLETED' | 'EXITED' | 'FAILED' | 'CANCELLED';
          /** Only executions with exactly this key */
          key?: string;
          /** Paused individually, not with their workflow */
          paused?: 'true' | 'false';
        };
      };
      answer: NamedExecutionPage;
    };
    /** Get one execution with its steps */
    '/workflows/{id}/executions/{executionId}': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
          /** The id of an execution */
          executionId: string;
        };
      };
      answer: ExecutionDetails;
    };
    /** List every change of an execution and its steps, oldest first */
    '/workflows/{id}/executions/{executionId}/history': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
          /** The id of an execution */
          executionId: string;
        };
      };
      answer: {
        executionId: string;
        /** The run in the Temporal UI; null: `TEMPORAL_UI_URL` is not set */
        runUrl: string | null;
        entries: Array<{
          at: string;
          /** null: the execution itself */
          stepId: string | null;
          stepName: string | null;
          stepType: 'TRIGGER' | 'SEND_EMAIL' | 'DELAY' | 'WAIT_FOR_EVENT' | 'DIGEST' | 'CONDITION' | 'SPLIT' | 'WEBHOOK' | 'UPDATE_CONTACT' | 'EXIT' | null;
          from: string | null;
          to: string | null;
          detail: string | unknown | null;
          /** Who caused it; only in the first entry */
          causedBy?: Actor;
        }>;
      };
    };
    /** Find executions over all workflows, newest start first */
    '/executions': {
      request: {
        query?: {
          /** Maximum number of items per page */
          limit?: number;
          /** The `cursor` of the previous page */
          cursor?: string;
          /** Comma list of statuses */
          status?: string;
          /** The id of a workflow */
          workflowId?: string;
          /** The id of a contact */
          contactId?: string;
          /** The address of the contact, in any case */
          email?: string;
          /** The id of a step */
          stepId?: string;
          /** Only executions with exactly this key */
          key?: string;
          /** Only executions on this version */
          version?: number;
          /** Paused individually, not with their workflow */
          paused?: 'true' | 'false';
          /** With steps that completed with `success: false` */
          warnings?: 'true';
          /** Only executions that are stuck */
          stuck?: 'true';
          /** Started at this moment or later */
          startedAfter?: string;
          /** Started before this moment */
          startedBefore?: string;
          /** Ended at this moment or later */
          endedAfter?: string;
          /** Ended before this moment */
          endedBefore?: string;
          /** A part of the error */
          error?: string;
          /** The whole error, as GET /executions/groups shows it */
          errorEquals?: string;
        };
      };
      answer: FoundExecutionList;
    };
    /** Group executions that failed, are stuck or have warnings, the largest group first */
    '/executions/groups': {
      request: {
        query?: {
          /** Only groups of this kind */
          kind?: 'failed' | 'stuck' | 'warning';
          /** Only executions of this workflow */
          workflowId?: string;
        };
      };
      answer: Array<ExecutionGroup>;
    };
    /** Get the progress and result of a job on executions */
    '/workflows/{id}/jobs/{jobId}': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
          /** The `jobId` that was returned when the job began */
          jobId: string;
        };
      };
      answer: ExecutionJob;
    };
    /** List the last firings of a schedule, and the next ones */
    '/workflows/{id}/firings': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
        };
      };
      answer: {
        firings: Array<Firing>;
        next: Array<string>;
      };
    };
    /** Count executions and their results at each step */
    '/workflows/{id}/stats': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
        };
        query?: {
          /** A date-time with an offset, or a date: its first moment */
          startDate?: string;
          /** A date-time with an offset, or a date: its first moment */
          endDate?: string;
          /** By default the current workflow */
          version?: number;
        };
      };
      answer: {
        success: true;
        data: {
          executions: {
            started: number;
            /** Includes the paused ones */
            active: number;
            /** Active, and paused individually */
            paused: number;
            completed: number;
            exited: number;
            failed: number;
            cancelled: number;
          };
          /** Events of the period that started no execution, by reason; those older than 30 days are not counted. Only for workflows with executionKey or the mode `parallel` */
          notStarted?: {
            no_key: number;
            key_too_long: number;
            too_many: number;
          };
          /** Only with a goal: what followed the mail of these executions */
          goal?: GoalStats;
          steps: Array<{
            stepId: string;
            name: string;
            type: 'TRIGGER' | 'SEND_EMAIL' | 'DELAY' | 'WAIT_FOR_EVENT' | 'DIGEST' | 'CONDITION' | 'SPLIT' | 'WEBHOOK' | 'UPDATE_CONTACT' | 'EXIT';
            /** Executions that have begun the step */
            entered: number;
            completed: number;
            skipped: number;
            failed: number;
            /** Active executions that are at the step now */
            waiting: number;
            /** Seconds from entering to leaving the step; null: no execution has left it */
            medianSeconds: number | null;
            /** Executions that left it, by branch */
            branches: Record<string, number>;
            /** Only for steps that send mail */
            emails?: {
              total: number;
              /** Mail by outcome: the sum is total */
              outcomes: {
                /** Accepted by the provider, whatever followed */
                sent: number;
                /** Refused by the provider */
                failed: number;
                /** Will not be sent */
                withheld: number;
                /** Held back by the send policy */
                held: number;
                /** Still to be sent */
                pending: number;
                /** Possibly accepted: the outcome is unknown */
                unknown: number;
              };
              /** Number of those that were not sent, by reason; reasons without any are absent */
              reasons: Record<string, number>;
              sent: number;
              delivered: number;
              opened: number;
              clicked: number;
              bounced: number;
              /** Mail with an open by a person */
              humanOpened: number;
              /** Mail with opens by machines alone */
              machineOpened: number;
              humanClicked: number;
              machineClicked: number;
            };
          }>;
        };
      };
    };
    /** List who was sent the mail of a step, an item for each mail */
    '/workflows/{id}/steps/{stepId}/recipients': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
          /** The id of a step */
          stepId: string;
        };
        query?: {
          /** Maximum number of items per page */
          limit?: number;
          /** The `cursor` of the previous page */
          cursor?: string;
          /** An outcome, or an event of mail that was sent */
          outcome?: 'sent' | 'failed' | 'withheld' | 'held' | 'pending' | 'unknown' | 'delivered' | 'opened' | 'clicked' | 'humanOpened' | 'humanClicked' | 'bounced' | 'complained' | 'unsubscribed' | 'converted';
          /** A reasonCode. Contacts that a campaign has left out are listed only by their reason */
          reason?: 'provider_refused' | 'recipient_refused' | 'provider_unavailable' | 'contact_unsubscribed' | 'topic_unsubscribed' | 'suppressed' | 'held_out' | 'frequency_cap' | 'late' | 'billing_limit' | 'domain_not_verified' | 'project_disabled' | 'campaign_cancelled' | 'execution_ended' | 'cancelled' | 'message_too_large' | 'no_provider' | 'contact_deleted' | 'restored' | 'quiet_hours' | 'warm_up' | 'operator' | 'awaiting_start' | 'campaign_paused' | 'experiment' | 'schedule' | 'retry' | 'queued' | 'delivery_unsettled' | 'delivery_unknown' | 'unsubscribed_at_freeze' | 'topic_unsubscribed_at_freeze';
          /** Part of the address of the contact, in any case */
          search?: string;
          /** A linkId: only mail in which this link was clicked */
          link?: string;
        };
      };
      answer: RecipientList;
    };
    /** List the links in the mail of a step with their clicks */
    '/workflows/{id}/steps/{stepId}/links': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
          /** The id of a step */
          stepId: string;
        };
      };
      answer: LinkList;
    };
    /** Draw the graph of a workflow as SVG */
    '/workflows/{id}/graph.svg': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
        };
        query?: {
          /** By default the current workflow */
          version?: number;
          /** true: show the statistics of each step */
          stats?: 'true' | 'false';
        };
      };
      answer: string;
    };
    /** Draw the path of an execution as SVG */
    '/workflows/{id}/executions/{executionId}/graph.svg': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
          /** The id of an execution */
          executionId: string;
        };
      };
      answer: string;
    };
    /** End all sessions of the user */
    '/auth/logout': {
      request: {};
      answer: true;
    };
    /** List the other ways to log in */
    '/auth/oauth-config': {
      request: {};
      answer: {
        success: true;
        data: {
          github: boolean;
          google: boolean;
        };
      };
    };
    /** List the ways to sign in */
    '/auth/methods': {
      request: {};
      answer: {
        success: true;
        data: {
          password: boolean;
          /** True if POST /auth/signup makes accounts */
          signUp: boolean;
          passkey: boolean;
          github: boolean;
          google: boolean;
          oidc: Array<{
            id: string;
            name: string;
          }>;
        };
      };
    };
    /** Get the logged-in user */
    '/users/@me': {
      request: {};
      answer: User;
    };
    /** List the sessions of the logged-in user, the last used first */
    '/users/@me/sessions': {
      request: {};
      answer: Array<Session>;
    };
    /** List the identity providers by which the logged-in user signs in */
    '/users/@me/identities': {
      request: {};
      answer: Array<Identity>;
    };
    /** List the second factors of the logged-in user */
    '/users/@me/factors': {
      request: {};
      answer: Factors;
    };
    /** List the projects of the logged-in user */
    '/users/@me/projects': {
      request: {};
      answer: Array<Project>;
    };
    /** List the members of a project and invited users, the owner first */
    '/projects/{id}/members': {
      request: {
        path: {
          /** The id of the project */
          id: string;
        };
      };
      answer: {
        success: true;
        data: Array<{
          userId: string;
          email: string;
          role: 'OWNER' | 'ADMIN' | 'MEMBER';
          /** An invited person is not a member and sees nothing of the project until they accept */
          status: 'active' | 'invited';
          /** Who added or invited the user; null for the owner */
          addedBy: Actor | null;
          /** The identity provider whose rules have made the member; null: made by hand */
          managedBy: string | null;
          createdAt: string;
        }>;
      };
    };
    /** List the projects the logged-in user is invited to, the newest invitation first */
    '/users/@me/invitations': {
      request: {};
      answer: Array<Invitation>;
    };
    /** Get the setup progress of a project */
    '/projects/{id}/setup-state': {
      request: {
        path: {
          /** The id of the project */
          id: string;
        };
      };
      answer: {
        success: true;
        data: {
          hasSubscription: boolean;
          hasVerifiedDomain: boolean;
          contactCount: number;
          lastCampaignSentAt: string | null;
          hasEnabledWorkflow: boolean;
        };
      };
    };
    /** Get the bounce and complaint rates of a project */
    '/projects/{id}/security': {
      request: {
        path: {
          /** The id of the project */
          id: string;
        };
      };
      answer: {
        success: true;
        data: ProjectSecurity;
      };
    };
    /** Get the bounce and complaint rates of a project */
    '/users/@me/projects/{id}/security': {
      request: {
        path: {
          /** The id of the project */
          id: string;
        };
      };
      answer: ProjectSecurity;
    };
    /** Get the billing limits of a project and its usage of this month */
    '/users/@me/projects/{id}/billing-limits': {
      request: {
        path: {
          /** The id of the project */
          id: string;
        };
      };
      answer: BillingLimits;
    };
    /** Get the usage of a project in this period and its cost */
    '/users/@me/projects/{id}/billing-consumption': {
      request: {
        path: {
          /** The id of the project */
          id: string;
        };
      };
      answer: {
        period: {
          start: string;
          end: string;
        };
        usage: {
          total: number;
          records: Array<{
            date: string;
            category: 'workflows' | 'campaigns' | 'transactional' | 'inbound';
            count: number;
          }>;
        };
        credits: GetBillingConsumptionCredits | null;
        upcomingInvoice: GetBillingConsumptionUpcomingInvoice | null;
      };
    };
    /** List the invoices of a project, newest first */
    '/users/@me/projects/{id}/billing-invoices': {
      request: {
        path: {
          /** The id of the project */
          id: string;
        };
      };
      answer: {
        invoices: Array<Invoice>;
        hasUnpaidInvoices: boolean;
        unpaidInvoices: Array<UnpaidInvoice>;
      };
    };
    /** List the uploaded files of the project, newest first */
    '/uploads': {
      request: {
        query?: {
          /** Maximum number of items per page */
          limit?: number;
          /** The `cursor` of the previous page */
          cursor?: string;
        };
      };
      answer: UploadList;
    };
    /** Get the project as files for version control */
    '/files': {
      request: {
        query?: {
          /** Only these objects: a comma list of patterns `<kind>/<key>` or `<kind>/<beginning>*` */
          only?: string;
          /** Templates are HTML in both formats */
          format?: 'yaml' | 'json';
        };
      };
      answer: FileSet;
    };
    /** List the plans, newest first */
    '/plans': {
      request: {
        query?: {
          /** Maximum number of items per page */
          limit?: number;
          /** The `cursor` of the previous page */
          cursor?: string;
          /** The `state` with which the login began */
          state?: 'open' | 'applied';
        };
      };
      answer: ListedPlanList;
    };
    /** Get one plan */
    '/plans/{id}': {
      request: {
        path: {
          /** The id of the plan */
          id: string;
        };
      };
      answer: Plan;
    };
    /** Get the JSON Schema of a kind of file, for editors */
    '/schemas/{name}': {
      request: {
        path: {
          /** Name of the schema */
          name: string;
        };
      };
      answer: Record<string, unknown>;
    };
    /** List the sender domains of the caller's project */
    '/domains': {
      request: {};
      answer: Array<Domain>;
    };
    /** List the sender domains of a project */
    '/domains/project/{projectId}': {
      request: {
        path: {
          /** The id of a project */
          projectId: string;
        };
      };
      answer: Array<Domain>;
    };
    /** Get a sender domain */
    '/domains/{id}': {
      request: {
        path: {
          /** The id of the domain */
          id: string;
        };
      };
      answer: Domain;
    };
    /** Check the DNS records of a sender domain now */
    '/domains/{id}/verify': {
      request: {
        path: {
          /** The id of the domain */
          id: string;
        };
      };
      answer: CheckedDomain;
    };
    /** List the mail providers that the project may use */
    '/providers': {
      request: {};
      answer: Array<SmtpProvider | SesProvider | InstallationProvider>;
    };
    /** Get one mail provider */
    '/providers/{id}': {
      request: {
        path: {
          /** A uuid, or the name of a provider that the operator has set up */
          id: string;
        };
      };
      answer: SmtpProvider | SesProvider | InstallationProvider;
    };
    /** Get the routes: which mail leaves by which mail provider */
    '/routing': {
      request: {};
      answer: Routing;
    };
    /** List the mails caught on this machine; a page for browsers */
    '/local/mailbox': {
      request: {
        query?: {
          /** One recipient */
          to?: string;
          /** Maximum number of items per page */
          limit?: number;
          /** The mail to show */
          mail?: string;
        };
      };
      answer: Array<MailboxSummary>;
    };
    /** Get one caught mail */
    '/local/mailbox/{id}': {
      request: {
        path: {
          /** An id as GET /local/mailbox lists it */
          id: string;
        };
      };
      answer: {
        id: string;
        from: string;
        to: string;
        subject: string;
        receivedAt: string;
        headers: Record<string, string | Array<string>>;
        html: string | null;
        text: string | null;
        attachments: Array<{
          filename: string | null;
          contentType: string;
          size: number;
        }>;
        raw: string;
      };
    };
    /** List the named keys, newest first */
    '/api-keys': {
      request: {
        query?: {
          /** True: only revoked keys; false: only others */
          revoked?: 'true' | 'false';
        };
      };
      answer: Array<ApiKey>;
    };
    /** Return the secret key of the request */
    '/api-keys/@me': {
      request: {};
      answer: ApiKey;
    };
    /** Get a named key, also a revoked one */
    '/api-keys/{id}': {
      request: {
        path: {
          /** An id as GET /api-keys lists it */
          id: string;
        };
      };
      answer: ApiKey;
    };
    /** List the requests of the project, newest first */
    '/requests': {
      request: {
        query?: {
          /** Maximum number of items per page */
          limit?: number;
          /** The `cursor` of the previous page */
          cursor?: string;
          /** The method as it was sent */
          method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
          /** The path as the reference has it */
          route?: string;
          /** A status, or a class such as `4xx` */
          status?: string;
          /** A code of an error, such as VALIDATION_ERROR */
          errorCode?: string;
          /** Id of a named key; `secret` or `public` for a key of the pair */
          keyId?: string;
          /** The id of a user */
          userId?: string;
          /** An IPv4 or IPv6 address */
          ip?: string;
          /** Only requests that took so many milliseconds */
          minMs?: number;
          /** How the Idempotency-Key was used */
          idempotency?: 'first' | 'replayed' | 'refused';
          /** Only requests at this time or later */
          from?: string;
          /** Only requests before this time */
          to?: string;
        };
      };
      answer: LoggedRequestList;
    };
    /** Get a request, with the invalid fields of a 422 */
    '/requests/{requestId}': {
      request: {
        path: {
          /** The X-Request-ID of the response */
          requestId: string;
        };
      };
      answer: LoggedRequestDetail;
    };
    /** List the security events of the project, newest first */
    '/security-events': {
      request: {
        query?: {
          /** Maximum number of items per page */
          limit?: number;
          /** The `cursor` of the previous page */
          cursor?: string;
          /** Names, or prefixes such as `member.*`, separated by commas */
          event?: string;
          /** Id of a user or named key; `secret` or `public` for a key of the pair */
          actorId?: string;
          /** Id of the changed record */
          targetId?: string;
          /** Only events at this time or later */
          from?: string;
          /** Only events before this time */
          to?: string;
        };
      };
      answer: SecurityEventList;
    };
    /** List the logged-in user's own security events, newest first */
    '/users/@me/security-events': {
      request: {
        query?: {
          /** Maximum number of items per page */
          limit?: number;
          /** The `cursor` of the previous page */
          cursor?: string;
        };
      };
      answer: SecurityEventList;
    };
    /** List the secrets for webhooks by name; their values are never returned */
    '/secrets': {
      request: {};
      answer: Array<Secret>;
    };
    /** List the ramps, newest first: daily limits that warm up a provider or sender domain */
    '/ramps': {
      request: {};
      answer: Array<Ramp>;
    };
    /** Get one ramp with its counts */
    '/ramps/{id}': {
      request: {
        path: {
          /** The id of the ramp */
          id: string;
        };
      };
      answer: Ramp;
    };
    /** Get the send policy: when marketing mail may reach contacts, and how often */
    '/send-policy': {
      request: {};
      answer: SendPolicy;
    };
    /** Get the link policy: the UTM parameters of links in mail */
    '/link-policy': {
      request: {};
      answer: LinkPolicy;
    };
    /** Get the hold-out: the share of contacts that gets no marketing mail */
    '/holdout': {
      request: {};
      answer: Holdout;
    };
    /** Compare contacts that were held out with those that got marketing mail */
    '/holdout/report': {
      request: {
        query: {
          /** A date-time with an offset, or a date: its first moment */
          startDate?: string;
          /** A date-time with an offset, or a date: its first moment */
          endDate?: string;
          /** The event that is counted as a conversion */
          event: string;
          /** A number in the event's data, such as order.total */
          valueField?: string;
        };
      };
      answer: {
        event: string;
        startDate: string;
        endDate: string;
        /** The share that is held out now */
        percent: number;
        heldOut: HoldoutGroup;
        reached: HoldoutGroup;
        /** Percent by which the rate of `reached` is higher */
        liftPercent: number | null;
      };
    };
    /** Get the consent policy of the project */
    '/consent-policy': {
      request: {};
      answer: ConsentPolicy;
    };
    /** Get the sign-in policy of a project: what its members need to sign in */
    '/users/@me/projects/{id}/sign-in-policy': {
      request: {
        path: {
          /** The id of the project */
          id: string;
        };
      };
      answer: SignInPolicy;
    };
    /** List the addresses that the project must not send to, newest first */
    '/suppression-list': {
      request: {
        query?: {
          /** Maximum number of items per page */
          limit?: number;
          /** The `cursor` of the previous page */
          cursor?: string;
          /** Part of the address, in any case; % and _ are plain characters */
          search?: string;
          /** Why the address is on the list */
          reason?: 'hard_bounce' | 'complaint' | 'manual' | 'import' | 'erased' | 'opt_out';
          /** The mail that the address does not get */
          scope?: 'marketing' | 'all';
        };
      };
      answer: SuppressionList;
    };
    /** Get an address's entry on the suppression list */
    '/suppression-list/{email}': {
      request: {
        path: {
          /** An address, in any case */
          email: string;
        };
      };
      answer: SuppressionOfAddress;
    };
    /** List all segments, newest first */
    '/segments': {
      request: {};
      answer: Array<Segment>;
    };
    /** Get one segment */
    '/segments/{id}': {
      request: {
        path: {
          /** The id of the segment */
          id: string;
        };
      };
      answer: Segment;
    };
    /** List the current contacts of a segment */
    '/segments/{id}/contacts': {
      request: {
        path: {
          /** The id of the segment */
          id: string;
        };
        query?: {
          /** Number of the page, from 1 */
          page?: number;
          /** Items per page */
          pageSize?: number;
          /** Default: the newest contact first; for a STATIC segment, the newest member first */
          sort?: 'createdAt' | 'email';
          /** By default asc for email, desc otherwise */
          dir?: 'asc' | 'desc';
        };
      };
      answer: ContactPage;
    };
    /** List the templates */
    '/templates': {
      request: {
        query?: {
          /** Number of the page, from 1 */
          page?: number;
          /** Items per page */
          pageSize?: number;
          /** Sort field */
          sort?: 'createdAt' | 'name' | 'updatedAt';
          /** Ascending or descending */
          dir?: 'asc' | 'desc';
          /** Part of name, description or subject, in any case */
          search?: string;
          /** The message class. MARKETING goes to subscribed contacts only, and gets a footer to opt out. TRANSACTIONAL goes to all contacts, without a footer. HEADLESS has no footer either; unsubscribed contacts get it only with /v1/send. */
          type?: 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS';
        };
      };
      answer: TemplatePage;
    };
    /** Get one template */
    '/templates/{id}': {
      request: {
        path: {
          /** The id of the template */
          id: string;
        };
      };
      answer: Template;
    };
    /** List the uses of a template */
    '/templates/{id}/usage': {
      request: {
        path: {
          /** The id of the template */
          id: string;
        };
      };
      answer: {
        campaigns: Array<{
          id: string;
          name: string;
          status: string;
        }>;
        workflowSteps: Array<{
          id: string;
          name: string;
          workflowId: string;
          workflowName: string;
        }>;
        /** Number of further items of each list that shows only its first 100, by the name of the list; absent when all are listed */
        more?: Record<string, number>;
        emailsSent: number;
      };
    };
    /** Count the mail made from a template, by its results */
    '/templates/{id}/stats': {
      request: {
        path: {
          /** The id of the template */
          id: string;
        };
        query?: {
          /** A date-time with an offset, or a date: its first moment */
          startDate?: string;
          /** A date-time with an offset, or a date: its first moment */
          endDate?: string;
        };
      };
      answer: {
        success: true;
        data: {
          total: number;
          /** Accepted by the provider */
          sentCount: number;
          /** Reported as delivered */
          deliveredCount: number;
          /** Accepted by SMTP, which reports no deliveries, and not bounced; absent if no mail went that way */
          assumedDeliveredCount?: number;
          /** Absent if assumedDeliveredCount is. mixed: some deliveries were reported */
          deliveryBasis?: 'assumed' | 'mixed';
          openedCount: number;
          clickedCount: number;
          bouncedCount: number;
          complainedCount: number;
          unsubscribedCount: number;
          /** Mail that the send policy or a ramp holds now */
          heldCount: number;
          /** Mail whose template could not be rendered */
          renderedPlainlyCount: number;
          /** Mail that may or may not have been accepted */
          uncertainCount: number;
          /** Mail by outcome: the sum is total */
          outcomes: {
            /** Accepted by the provider, whatever followed */
            sent: number;
            /** Refused by the provider */
            failed: number;
            /** Will not be sent */
            withheld: number;
            /** Held back by the send policy */
            held: number;
            /** Still to be sent */
            pending: number;
            /** Possibly accepted: the outcome is unknown */
            unknown: number;
          };
          /** Number of those that were not sent, by reason; reasons without any are absent */
          reasons: Record<string, number>;
          /** Percent of total that was delivered; 0 without mail */
          reachRate: number;
          /** Mail with an open by a person */
          humanOpenedCount: number;
          /** Mail with opens by machines alone */
          machineOpenedCount: number;
          /** Mail with a click by a person */
          humanClickedCount: number;
          /** Mail with clicks by machines alone */
          machineClickedCount: number;
          /** Percent of sentCount */
          humanOpenRate: number;
          /** Percent of sentCount */
          humanClickRate: number;
          /** The percentage of deliveredCount and assumedDeliveredCount together */
          deliveryRate: number;
          /** Percent of sentCount; 0 when nothing was sent */
          openRate: number;
          /** Percent of sentCount; 0 when nothing was sent */
          clickRate: number;
          /** Percent of sentCount; 0 when nothing was sent */
          bounceRate: number;
          /** Percent of sentCount; 0 when nothing was sent */
          complaintRate: number;
          /** Percent of sentCount; 0 when nothing was sent */
          unsubscribeRate: number;
        };
      };
    };
    /** List who was sent a template, an item for each mail */
    '/templates/{id}/recipients': {
      request: {
        path: {
          /** The id of the template */
          id: string;
        };
        query?: {
          /** Maximum number of items per page */
          limit?: number;
          /** The `cursor` of the previous page */
          cursor?: string;
          /** An outcome, or an event of mail that was sent */
          outcome?: 'sent' | 'failed' | 'withheld' | 'held' | 'pending' | 'unknown' | 'delivered' | 'opened' | 'clicked' | 'humanOpened' | 'humanClicked' | 'bounced' | 'complained' | 'unsubscribed' | 'converted';
          /** A reasonCode. Contacts that a campaign has left out are listed only by their reason */
          reason?: 'provider_refused' | 'recipient_refused' | 'provider_unavailable' | 'contact_unsubscribed' | 'topic_unsubscribed' | 'suppressed' | 'held_out' | 'frequency_cap' | 'late' | 'billing_limit' | 'domain_not_verified' | 'project_disabled' | 'campaign_cancelled' | 'execution_ended' | 'cancelled' | 'message_too_large' | 'no_provider' | 'contact_deleted' | 'restored' | 'quiet_hours' | 'warm_up' | 'operator' | 'awaiting_start' | 'campaign_paused' | 'experiment' | 'schedule' | 'retry' | 'queued' | 'delivery_unsettled' | 'delivery_unknown' | 'unsubscribed_at_freeze' | 'topic_unsubscribed_at_freeze';
          /** Part of the address of the contact, in any case */
          search?: string;
          /** A linkId: only mail in which this link was clicked */
          link?: string;
        };
      };
      answer: RecipientList;
    };
    /** List the links of a template with their clicks */
    '/templates/{id}/links': {
      request: {
        path: {
          /** The id of the template */
          id: string;
        };
      };
      answer: LinkList;
    };
    /** List the workflows */
    '/workflows': {
      request: {
        query?: {
          /** Number of the page, from 1 */
          page?: number;
          /** Items per page */
          pageSize?: number;
          /** Sort field */
          sort?: 'createdAt' | 'name' | 'updatedAt' | 'steps';
          /** Ascending or descending */
          dir?: 'asc' | 'desc';
          /** Part of name or description, in any case */
          search?: string;
          /** Only those with this status */
          status?: 'active' | 'disabled';
        };
      };
      answer: CountedWorkflowPage;
    };
    /** List the fields that a CONDITION step can read */
    '/workflows/fields': {
      request: {
        query?: {
          /** Adds the keys of the newest events of this name */
          eventName?: string;
        };
      };
      answer: {
        fields: Array<string>;
        typedFields: Array<{
          field: string;
          type: 'string' | 'number' | 'boolean' | 'date';
          category: 'Contact Fields' | 'Custom Data' | 'Event Data';
        }>;
        count: number;
      };
    };
    /** Get one workflow with its graph */
    '/workflows/{id}': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
        };
      };
      answer: WorkflowGraph;
    };
    /** Get a workflow in a form for version control */
    '/workflows/{id}/graph': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
        };
      };
      answer: PortableGraph;
    };
    /** List the versions of a workflow, newest first */
    '/workflows/{id}/versions': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
        };
        query?: {
          /** Maximum number of items per page */
          limit?: number;
          /** The `cursor` of the previous page */
          cursor?: string;
        };
      };
      answer: WorkflowVersionList;
    };
    /** Get one version of a workflow with its graph */
    '/workflows/{id}/versions/{version}': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
          /** A version of the workflow */
          version: number;
        };
      };
      answer: WorkflowVersionGraph;
    };
    /** Name and version, or a redirect to the landing page */
    '/': {
      request: {};
      answer: {
        name: 'everpost';
        version: string;
      };
    };
    /** Check that the process runs, without asking other services */
    '/health': {
      request: {};
      answer: {
        status: 'ok';
        /** Milliseconds since 1970 */
        time: number;
        environment: string;
        /** Seconds */
        uptime: number;
        version: string;
      };
    };
    /** Check that the server can work; 503 when PostgreSQL or Temporal does not respond */
    '/health/ready': {
      request: {
        query?: {
          /** The checks to make, with commas between them; all without this parameter */
          checks?: string;
        };
      };
      answer: {
        status: 'ok' | 'degraded' | 'failed';
        checks: {
          database?: 'ok' | 'failed';
          temporal?: 'ok' | 'failed';
          background?: 'ok' | 'late' | 'lost' | 'restoring' | 'held';
        };
      };
    };
    /** Get the features of this server */
    '/config': {
      request: {};
      answer: {
        environment: string;
        urls: {
          api: string;
          dashboard: string;
          landing: string | null;
          wiki: string | null;
        };
        features: {
          billing: {
            enabled: boolean;
          };
          storage: {
            s3Enabled: boolean;
          };
          authProviders: {
            github: boolean;
            google: boolean;
          };
          email: {
            trackingToggleEnabled: boolean;
            mode: 'ses' | 'local';
            transport: 'ses' | 'smtp' | 'mailbox';
            /** How bounces come back. dsn: by mail to the return path; none: not at all */
            feedback: 'ses' | 'dsn' | 'mailbox' | 'none';
            /** True if mail can become DELIVERED; otherwise it stays SENT */
            deliveryReports: boolean;
          };
          smtp: {
            enabled: boolean;
            domain: null;
            ports: null;
          };
          signups: {
            enabled: boolean;
          };
        };
        aws: {
          sesRegion: string | null;
        };
      };
    };
    /** The documentation of the API as an OpenAPI 3.1 document */
    '/openapi.json': {
      request: {};
      answer: Record<string, unknown>;
    };
  };
  post: {
    /** Send a mail now or at a time, to one or several recipients */
    '/v1/send': {
      request: {
        body: SendRequest;
        idempotencyKey?: string;
      };
      answer: {
        success: true;
        data: {
          emails: Array<SentEmail>;
          warnings?: Array<SendWarning>;
          /** Only if the request has one */
          scheduledFor?: string;
          timestamp: string;
        };
      };
    };
    /** Send up to 500 messages with one request */
    '/v1/send/batch': {
      request: {
        body: SendBatchRequest;
        idempotencyKey?: string;
      };
      answer: {
        success: true;
        data: {
          accepted: number;
          refused: number;
          timestamp: string;
          /** One per message, in the same order */
          results: Array<AcceptedMessage | RefusedMessage>;
        };
      };
    };
    /** Record an event of a contact; it starts workflows and ends their waits */
    '/v1/track': {
      request: {
        body: TrackRequest;
        idempotencyKey?: string;
      };
      answer: {
        success: true;
        data: TrackedEvent;
      };
    };
    /** Check an email address; nothing is stored or sent */
    '/v1/verify': {
      request: {
        body: VerifyRequest;
      };
      answer: {
        success: true;
        data: {
          email: string;
          /** The domain exists and accepts mail */
          valid: boolean;
          isDisposable: boolean;
          /** The domain forwards to another mailbox */
          isAlias: boolean;
          /** The domain is one letter off a large provider */
          isTypo: boolean;
          isPlusAddressed: boolean;
          isPersonalEmail: boolean;
          domainExists: boolean;
          hasWebsite: boolean;
          hasMxRecords: boolean;
          /** Only when isTypo */
          suggestedEmail?: string;
          /** The findings in words */
          reasons: Array<string>;
        };
      };
    };
    /** Create a contact, or update the one with this address */
    '/contacts': {
      request: {
        body: UpsertContactRequest;
        idempotencyKey?: string;
      };
      answer: {
        id: string;
        email: string;
        subscribed: boolean;
        data: Record<string, unknown> | null;
        /** The state of the newest opt-in request; absent: there was none */
        consent?: 'pending' | 'confirmed' | 'expired';
        projectId: string;
        createdAt: string;
        updatedAt: string;
        _meta: {
          isNew: boolean;
          isUpdate: boolean;
        };
      };
    };
    /** Create a campaign as a draft */
    '/campaigns': {
      request: {
        body: CreateCampaignRequest;
        idempotencyKey?: string;
      };
      answer: {
        success: true;
        data: Campaign;
      };
    };
    /** Copy a campaign into a new draft */
    '/campaigns/{id}/duplicate': {
      request: {
        path: {
          /** The id of the campaign */
          id: string;
        };
        idempotencyKey?: string;
      };
      answer: {
        success: true;
        data: Campaign;
        message: string;
      };
    };
    /** Delete many campaigns: all of them or none */
    '/campaigns/bulk-update': {
      request: {
        body: BulkUpdateCampaignsRequest;
        idempotencyKey?: string;
      };
      answer: BulkDeleted | BulkUnchanged;
    };
    /** Make a draft for the recipients who did not open, did not click or got no mail */
    '/campaigns/{id}/follow-up': {
      request: {
        path: {
          /** The id of the campaign */
          id: string;
        };
        body: FollowUpCampaignRequest;
        idempotencyKey?: string;
      };
      answer: {
        success: true;
        data: Campaign;
        message: string;
      };
    };
    /** Try the failed mails of a sent campaign again, each at most once */
    '/campaigns/{id}/retry-failed': {
      request: {
        path: {
          /** The id of the campaign */
          id: string;
        };
        body?: RetryFailedCampaignRequest;
        idempotencyKey?: string;
      };
      answer: {
        success: true;
        data: {
          retried: number;
          notRetried: {
            /** Another attempt would not help, or a person has stopped the mail */
            cannotChange: number;
            alreadyRetried: number;
            /** The provider may have accepted them */
            unknown: number;
          };
        };
      };
    };
    /** Send a campaign now or later, or reschedule it */
    '/campaigns/{id}/send': {
      request: {
        path: {
          /** The id of the campaign */
          id: string;
        };
        body?: SendCampaignRequest;
        idempotencyKey?: string;
      };
      answer: {
        success: true;
        data: Campaign;
        message: string;
      };
    };
    /** Cancel a campaign; no more of its mail is sent */
    '/campaigns/{id}/cancel': {
      request: {
        path: {
          /** The id of the campaign */
          id: string;
        };
        idempotencyKey?: string;
      };
      answer: {
        success: true;
        data: Campaign;
        message: string;
      };
    };
    /** Pause a campaign that is sending */
    '/campaigns/{id}/pause': {
      request: {
        path: {
          /** The id of the campaign */
          id: string;
        };
        idempotencyKey?: string;
      };
      answer: {
        success: true;
        data: Campaign;
      };
    };
    /** Resume a paused campaign with its current content */
    '/campaigns/{id}/resume': {
      request: {
        path: {
          /** The id of the campaign */
          id: string;
        };
        idempotencyKey?: string;
      };
      answer: {
        success: true;
        data: Campaign;
      };
    };
    /** Archive a campaign, so that it leaves the list */
    '/campaigns/{id}/archive': {
      request: {
        path: {
          /** The id of the campaign */
          id: string;
        };
        idempotencyKey?: string;
      };
      answer: {
        success: true;
        data: Campaign;
      };
    };
    /** Take a campaign out of the archive */
    '/campaigns/{id}/unarchive': {
      request: {
        path: {
          /** The id of the campaign */
          id: string;
        };
        idempotencyKey?: string;
      };
      answer: {
        success: true;
        data: Campaign;
      };
    };
    /** Send a test of a campaign to one address; it is not recorded */
    '/campaigns/{id}/test': {
      request: {
        path: {
          /** The id of the campaign */
          id: string;
        };
        body: TestCampaignRequest;
        idempotencyKey?: string;
      };
      answer: {
        success: true;
        message: string;
      };
    };
    /** Decide an experiment: the rest of the recipients gets this arm */
    '/campaigns/{id}/experiment/decide': {
      request: {
        path: {
          /** The id of the campaign */
          id: string;
        };
        body: DecideExperimentRequest;
        idempotencyKey?: string;
      };
      answer: {
        success: true;
        data: Experiment;
      };
    };
    /** Count who would get a campaign now, and who would be left out */
    '/campaigns/audience': {
      request: {
        body: CountCampaignAudienceRequest;
      };
      answer: {
        recipients: number;
        leftOut: {
          unsubscribed: number;
          /** Subscribed, but not to the topic */
          topic_unsubscribed: number;
        };
        suppressed: number;
      };
    };
    /** Erase a contact: remove every trace of it, also from records of others */
    '/contacts/{id}/erase': {
      request: {
        path: {
          /** The id of the contact */
          id: string;
        };
        body?: EraseContactRequest;
        idempotencyKey?: string;
      };
      answer: ErasureAccepted;
    };
    /** Create a topic */
    '/topics': {
      request: {
        body: CreateTopicRequest;
        idempotencyKey?: string;
      };
      answer: Topic;
    };
    /** List the contacts that a condition selects, newest first */
    '/contacts/query': {
      request: {
        body?: QueryContactsRequest;
      };
      answer: ContactList;
    };
    /** Find the addresses that have a contact; returns them as sent */
    '/contacts/lookup': {
      request: {
        body: LookUpContactsRequest;
      };
      answer: {
        found: Array<string>;
        notFound: Array<string>;
      };
    };
    /** Import contacts from a CSV file */
    '/contacts/import': {
      request: {
        body: FormData;
        idempotencyKey?: string;
      };
      answer: JobAccepted;
    };
    /** Subscribe many contacts */
    '/contacts/bulk-subscribe': {
      request: {
        body: BulkSubscribeContactsRequest;
        idempotencyKey?: string;
      };
      answer: JobAccepted;
    };
    /** Unsubscribe many contacts */
    '/contacts/bulk-unsubscribe': {
      request: {
        body: BulkUnsubscribeContactsRequest;
        idempotencyKey?: string;
      };
      answer: JobAccepted;
    };
    /** Delete many contacts */
    '/contacts/bulk-delete': {
      request: {
        body: BulkDeleteContactsRequest;
        idempotencyKey?: string;
      };
      answer: JobAccepted;
    };
    /** Subscribe a contact from an opt-out page */
    '/contacts/public/{id}/subscribe': {
      request: {
        path: {
          /** The id of the contact */
          id: string;
        };
        query?: {
          /** Id of the email with the link */
          e?: string;
          /** Key of the topic of that email; ignored when the project has no such topic */
          t?: string;
        };
      };
      answer: Subscription;
    };
    /** Unsubscribe a contact from an opt-out page */
    '/contacts/public/{id}/unsubscribe': {
      request: {
        path: {
          /** The id of the contact */
          id: string;
        };
        query?: {
          /** Id of the email with the link */
          e?: string;
          /** Key of the topic of that email; ignored when the project has no such topic */
          t?: string;
        };
      };
      answer: Subscription;
    };
    /** Feedback on sent mail and received mail, from Amazon SNS */
    '/webhooks/sns': {
      request: {};
      answer: {
        success: true;
        message?: string;
      };
    };
    /** Feedback on sent mail and received mail, from Amazon SNS */
    '/webhooks/incoming/sns': {
      request: {};
      answer: {
        success: true;
        message?: string;
      };
    };
    /** Feedback on sent mail and received mail, from Amazon SNS */
    '/api/webhooks/sns': {
      request: {};
      answer: {
        success: true;
        message?: string;
      };
    };
    /** Bounces, complaints and received mail, from your mail server */
    '/webhooks/incoming/mime': {
      request: {};
      answer: {
        success: true;
        result: 'report' | 'received' | 'ignored';
      };
    };
    /** Take the reports of a mail service */
    '/webhooks/providers/{id}/{token}': {
      request: {
        path: {
          /** Id of the mail provider */
          id: string;
          /** Token of its webhook address */
          token: string;
        };
      };
      answer: {
        success: true;
        applied: number;
        ignored: number;
      };
    };
    /** Record an event of a contact, of an email, or of neither */
    '/events/track': {
      request: {
        body: TrackEventRequest;
        idempotencyKey?: string;
      };
      answer: TrackAnswer | Event;
    };
    /** Create an event subscription: events are sent to a URL, signed as Standard Webhooks */
    '/event-subscriptions': {
      request: {
        body: CreateEventSubscriptionRequest;
        idempotencyKey?: string;
      };
      answer: NewEventSubscription;
    };
    /** Replace the secret of an event subscription */
    '/event-subscriptions/{id}/rotate-secret': {
      request: {
        path: {
          /** An id as GET /event-subscriptions lists it */
          id: string;
        };
        idempotencyKey?: string;
      };
      answer: {
        secret: string;
      };
    };
    /** Attempt a delivery now, in any state */
    '/event-subscriptions/{id}/deliveries/{deliveryId}/retry': {
      request: {
        path: {
          /** An id as GET /event-subscriptions lists it */
          id: string;
          /** The id of a delivery */
          deliveryId: string;
        };
        idempotencyKey?: string;
      };
      answer: EventDelivery;
    };
    /** Send a test event to the URL of a subscription, once */
    '/event-subscriptions/{id}/test': {
      request: {
        path: {
          /** An id as GET /event-subscriptions lists it */
          id: string;
        };
        body?: TestEventSubscriptionRequest;
        idempotencyKey?: string;
      };
      answer: {
        statusCode: number | null;
        ms: number;
        error: string | null;
      };
    };
    /** Send the events of a time span again */
    '/event-subscriptions/{id}/replay': {
      request: {
        path: {
          /** An id as GET /event-subscriptions lists it */
          id: string;
        };
        body: ReplayEventsRequest;
        idempotencyKey?: string;
      };
      answer: JobAccepted;
    };
    /** Start an execution for a contact */
    '/workflows/{id}/executions': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
        };
        body: StartExecutionRequest;
        idempotencyKey?: string;
      };
      answer: Execution;
    };
    /** Cancel all active executions of a workflow */
    '/workflows/{id}/executions/cancel-all': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
        };
        body?: CancelAllExecutionsRequest;
        idempotencyKey?: string;
      };
      answer: {
        cancelled: number;
      };
    };
    /** Retry a failed execution from its failed step */
    '/workflows/{id}/executions/{executionId}/retry': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
          /** The id of an execution */
          executionId: string;
        };
        body?: RetryExecutionRequest;
        idempotencyKey?: string;
      };
      answer: Execution;
    };
    /** Move the active executions of a workflow to another version */
    '/workflows/{id}/migrate': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
        };
        body?: MigrateExecutionsRequest;
        idempotencyKey?: string;
      };
      answer: JobAccepted;
    };
    /** Retry the failed executions of a workflow, each from its failed step */
    '/workflows/{id}/executions/retry-all': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
        };
        body?: RetryAllExecutionsRequest;
        idempotencyKey?: string;
      };
      answer: JobAccepted;
    };
    /** Move the ends of the waits of all executions at a step */
    '/workflows/{id}/steps/{stepId}/move-waits': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
          /** The id of a step */
          stepId: string;
        };
        body: MoveWaitsRequest;
        idempotencyKey?: string;
      };
      answer: JobAccepted;
    };
    /** Pause an active execution */
    '/workflows/{id}/executions/{executionId}/pause': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
          /** The id of an execution */
          executionId: string;
        };
        body?: PauseExecutionRequest;
        idempotencyKey?: string;
      };
      answer: Execution;
    };
    /** Resume a paused execution */
    '/workflows/{id}/executions/{executionId}/resume': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
          /** The id of an execution */
          executionId: string;
        };
        idempotencyKey?: string;
      };
      answer: Execution;
    };
    /** Skip the step at which an execution waits or has failed */
    '/workflows/{id}/executions/{executionId}/skip': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
          /** The id of an execution */
          executionId: string;
        };
        body?: SkipStepRequest;
        idempotencyKey?: string;
      };
      answer: Execution;
    };
    /** Check a graph without storing it */
    '/workflows/check': {
      request: {
        body: CheckWorkflowRequest;
      };
      answer: {
        problems: Array<{
          field: string;
          code: string;
          message: string;
        }>;
        /** Probable mistakes in the graph, at most 100 */
        warnings: Array<WorkflowWarning>;
      };
    };
    /** Simulate one execution in memory, with a clock that jumps */
    '/workflows/{id}/simulate': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
        };
        body: SimulateExecutionRequest;
        idempotencyKey?: string;
      };
      answer: {
        success: true;
        data: {
          status: 'COMPLETED' | 'EXITED' | 'FAILED' | 'WAITING';
          exitReason: string | null;
          error: string | null;
          startedAt: string;
          endedAt: string | null;
          /** The response would be larger than 2 MB, so bodies and large outputs of steps are left out */
          truncated: boolean;
          path: Array<{
            stepId: string;
            name: string;
            type: 'TRIGGER' | 'SEND_EMAIL' | 'DELAY' | 'WAIT_FOR_EVENT' | 'DIGEST' | 'CONDITION' | 'SPLIT' | 'WEBHOOK' | 'UPDATE_CONTACT' | 'EXIT';
            enteredAt: string;
            leftAt: string | null;
            branch: string | null;
            output: Record<string, unknown> | null;
          }>;
          emails: Array<{
            stepId: string;
            at: string;
            to: string;
            from: string;
            subject: string;
            body: string | null;
            messageClass: string;
            outcome: 'send' | 'withheld' | 'held';
            /** Why it is withheld or held */
            reason: 'provider_refused' | 'recipient_refused' | 'provider_unavailable' | 'contact_unsubscribed' | 'topic_unsubscribed' | 'suppressed' | 'held_out' | 'frequency_cap' | 'late' | 'billing_limit' | 'domain_not_verified' | 'project_disabled' | 'campaign_cancelled' | 'execution_ended' | 'cancelled' | 'message_too_large' | 'no_provider' | 'contact_deleted' | 'restored' | 'quiet_hours' | 'warm_up' | 'operator' | 'awaiting_start' | 'campaign_paused' | 'experiment' | 'schedule' | 'retry' | 'queued' | 'delivery_unsettled' | 'delivery_unknown' | null;
            heldUntil: string | null;
            /** At most 100 */
            warnings: Array<{
              code: 'liquid_syntax' | 'liquid_limit' | 'unknown_filter' | 'filter_in_fallback' | 'unknown_variable' | 'missing_unsubscribe_link' | 'large_message' | 'image_without_alt' | 'http_link';
              message: string;
              line: number | null;
              column: number | null;
            }>;
          }>;
          webhooks: Array<{
            stepId: string;
            at: string;
            attempts: number;
            method: string;
            url: string;
            headers: Record<string, string>;
            body: unknown;
          }>;
          contact: {
            email: string;
            subscribed: boolean;
            data: Record<string, unknown>;
          };
          context: Record<string, unknown> | null;
          /** The start of an execution by an event with `context` as its data. Only for workflows whose trigger has `where`, or with executionKey */
          start?: {
            starts: boolean;
            reason: 'where' | 'no_key' | 'key_too_long' | null;
            key: string | null;
          };
          /** Probable mistakes in the graph, at most 100 */
          warnings: Array<WorkflowWarning>;
        };
      };
    };
    /** Preview how an edit affects active executions */
    '/workflows/{id}/dry-run': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
        };
        body?: DryRunEditRequest;
        idempotencyKey?: string;
      };
      answer: {
        success: true;
        data: {
          /** null: the graph in the request */
          to: number | null;
          versions: Array<{
            version: number;
            active: number;
            same: number;
            differs: number;
            unmappable: number;
          }>;
          steps: Array<{
            stepId: string;
            name: string;
            waiting: number;
            mapsTo: string | null;
            reason: 'same_id' | 'mapping' | 'step_gone' | 'type_changed';
          }>;
          examples: Array<{
            executionId: string;
            contactId: string;
            version: number;
            currentStepId: string;
            verdict: 'same' | 'differs' | 'unmappable';
            why: 'config' | 'next_step' | 'branches' | 'template' | 'exit_rules' | 'step_gone' | 'type_changed' | null;
          }>;
        };
      };
    };
    /** Create an account and log in */
    '/auth/signup': {
      request: {
        body: SignUpRequest;
      };
      answer: {
        success: true;
        data: Account;
      };
    };
    /** Log in */
    '/auth/login': {
      request: {
        body: LogInRequest;
      };
      answer: {
        success: true;
        data: Account;
      };
    };
    /** Verify the address of the logged-in user with the token of a mail */
    '/auth/verify-email': {
      request: {
        body: VerifyEmailRequest;
      };
      answer: {
        success: true;
        data: {
          message: string;
        };
      };
    };
    /** Send the mail to verify an address again, at most three times an hour */
    '/auth/request-verification': {
      request: {};
      answer: {
        success: true;
        data: {
          message: string;
        };
      };
    };
    /** Send a mail to choose a new password; the response does not reveal whether the account exists */
    '/auth/request-password-reset': {
      request: {
        body: RequestPasswordResetRequest;
      };
      answer: {
        success: true;
        data: {
          message: string;
        };
      };
    };
    /** Choose a new password with the token of a mail; ends all sessions */
    '/auth/reset-password': {
      request: {
        body: ResetPasswordRequest;
      };
      answer: {
        success: true;
        data: {
          message: string;
        };
      };
    };
    /** Change the password; ends all other sessions */
    '/users/@me/password': {
      request: {
        body: ChangePasswordRequest;
      };
      answer: {
        success: true;
        data: {
          message: string;
        };
      };
    };
    /** Begin to link the logged-in user to an identity provider */
    '/users/@me/identities': {
      request: {
        body: LinkMyIdentityRequest;
      };
      answer: {
        url: string;
      };
    };
    /** Begin to add an authenticator app as a second factor */
    '/users/@me/factors/totp': {
      request: {
        body?: AddTotpRequest;
      };
      answer: NewTotp;
    };
    /** Confirm an authenticator app by its first code */
    '/users/@me/factors/totp/{id}/confirm': {
      request: {
        path: {
          /** The id of the factor */
          id: string;
        };
        body: ConfirmTotpRequest;
      };
      answer: NewFactor;
    };
    /** Make ten new recovery codes; the former ones end */
    '/users/@me/recovery-codes': {
      request: {};
      answer: RecoveryCodes;
    };
    /** Prove a second factor by a code */
    '/auth/second-factor': {
      request: {
        body: ProveSecondFactorRequest;
      };
      answer: {
        success: true;
        data: Account;
      };
    };
    /** Begin to add a passkey */
    '/users/@me/factors/passkey/options': {
      request: {};
      answer: Record<string, unknown>;
    };
    /** Add a passkey to the account */
    '/users/@me/factors/passkey': {
      request: {
        body: AddPasskeyRequest;
      };
      answer: NewFactor;
    };
    /** Begin to log in with a passkey */
    '/auth/passkey/options': {
      request: {
        body?: UsePasskeyOptionsRequest;
      };
      answer: {
        success: true;
        /** Options of WebAuthn in their JSON form, for the browser */
        data: Record<string, unknown>;
      };
    };
    /** Log in with a passkey, or prove it as a second factor */
    '/auth/passkey': {
      request: {
        body: UsePasskeyRequest;
      };
      answer: {
        success: true;
        data: Account;
      };
    };
    /** Log in by a link that the operator has made at the server */
    '/auth/break-glass': {
      request: {
        body: UseBreakGlassRequest;
      };
      answer: {
        success: true;
        data: Account;
      };
    };
    /** Create a project */
    '/users/@me/projects': {
      request: {
        body: CreateProjectRequest;
        idempotencyKey?: string;
      };
      answer: Project;
    };
    /** Replace both keys; the old ones stop working at once */
    '/users/@me/projects/{id}/regenerate-keys': {
      request: {
        path: {
          /** The id of the project */
          id: string;
        };
      };
      answer: ProjectWithNewKeys;
    };
    /** Replace the secret that signs webhooks; the old one is invalid at once */
    '/users/@me/projects/{id}/regenerate-webhook-secret': {
      request: {
        path: {
          /** The id of the project */
          id: string;
        };
      };
      answer: {
        webhookSigningSecret: string;
      };
    };
    /** Empty a project; it keeps its settings, keys, domains, members and billing */
    '/users/@me/projects/{id}/reset': {
      request: {
        path: {
          /** The id of the project */
          id: string;
        };
      };
      answer: {
        success: true;
        message: string;
      };
    };
    /** Invite a member by email address; without account mail, add them at once */
    '/projects/{id}/members': {
      request: {
        path: {
          /** The id of the project */
          id: string;
        };
        body: AddMemberRequest;
        idempotencyKey?: string;
      };
      answer: {
        success: true;
        data: Member;
      };
    };
    /** Become a member of a project the logged-in user is invited to */
    '/users/@me/invitations/{projectId}/accept': {
      request: {
        path: {
          /** The id of a project */
          projectId: string;
        };
      };
      answer: Project;
    };
    /** Get the URL of the page where a project subscribes */
    '/users/@me/projects/{id}/checkout': {
      request: {
        path: {
          /** The id of the project */
          id: string;
        };
        query?: {
          /** The currency to pay in */
          currency?: 'usd' | 'eur' | 'gbp';
        };
      };
      answer: {
        url: string;
      };
    };
    /** Get the URL of the page with cards and invoices */
    '/users/@me/projects/{id}/billing-portal': {
      request: {
        path: {
          /** The id of the project */
          id: string;
        };
      };
      answer: {
        url: string;
      };
    };
    /** Receive an event of the payment provider */
    '/webhooks/incoming/payments': {
      request: {};
      answer: {
        success: true;
        received: true;
      };
    };
    /** Receive an event of the payment provider */
    '/webhooks/incoming/stripe': {
      request: {};
      answer: {
        success: true;
        received: true;
      };
    };
    /** Upload an image for mails; it is public to anyone who has its URL */
    '/uploads/image': {
      request: {
        body: FormData;
        idempotencyKey?: string;
      };
      answer: {
        url: string;
        key: string;
        filename: string;
        contentType: 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp';
        /** Bytes */
        size: number;
      };
    };
    /** Plan changes by files: what they would change, and for whom */
    '/plan': {
      request: {
        body: CreatePlanRequest;
        idempotencyKey?: string;
      };
      answer: Plan;
    };
    /** Apply a plan: make all of its changes, or none */
    '/apply': {
      request: {
        body: ApplyPlanRequest;
        idempotencyKey?: string;
      };
      answer: Plan;
    };
    /** Add a sender domain */
    '/domains': {
      request: {
        body: CreateDomainRequest;
        idempotencyKey?: string;
      };
      answer: Domain;
    };
    /** Make a new DKIM key for a sender domain */
    '/domains/{id}/rotate-key': {
      request: {
        path: {
          /** The id of the domain */
          id: string;
        };
        idempotencyKey?: string;
      };
      answer: Domain;
    };
    /** Add a mail provider: an SMTP server, or an account at Amazon SES */
    '/providers': {
      request: {
        body: CreateProviderRequest;
        idempotencyKey?: string;
      };
      answer: NewSmtpProvider | NewSesProvider;
    };
    /** Make a new address for the webhooks of a provider's service */
    '/providers/{id}/rotate-token': {
      request: {
        path: {
          /** A uuid, or the name of a provider that the operator has set up */
          id: string;
        };
        idempotencyKey?: string;
      };
      answer: {
        feedbackUrl: string;
      };
    };
    /** Connect to a mail provider and log in, once */
    '/providers/{id}/test': {
      request: {
        path: {
          /** A uuid, or the name of a provider that the operator has set up */
          id: string;
        };
        body?: TestProviderRequest;
        idempotencyKey?: string;
      };
      answer: {
        ok: boolean;
        /** The stage that failed; null: none */
        stage: 'connect' | 'tls' | 'auth' | 'sender' | 'recipient' | 'data' | null;
        ms: number;
        /** Version of TLS; null: not encrypted */
        tls: string | null;
        /** Last reply of the server */
        code: number | null;
        message: string | null;
      };
    };
    /** Show by which mail providers a message would leave now */
    '/routing/preview': {
      request: {
        body: PreviewRoutingRequest;
        idempotencyKey?: string;
      };
      answer: {
        route: number | null;
        candidates: Array<{
          providerId: string;
          weight: number;
          usable: boolean;
          /** null: it is usable */
          reason: 'disabled' | 'domain_not_allowed' | 'too_large' | 'down' | 'refused' | 'ramp' | null;
        }>;
      };
    };
    /** Create a named key; only this response has its whole value */
    '/api-keys': {
      request: {
        body: CreateApiKeyRequest;
        idempotencyKey?: string;
      };
      answer: ApiKey;
    };
    /** Replace the value of a named key; only this response has the whole new one */
    '/api-keys/{id}/rotate': {
      request: {
        path: {
          /** An id as GET /api-keys lists it */
          id: string;
        };
        body?: RotateApiKeyRequest;
        idempotencyKey?: string;
      };
      answer: ApiKey;
    };
    /** Start a ramp: warm up a mail provider or sender domain */
    '/ramps': {
      request: {
        body: CreateRampRequest;
        idempotencyKey?: string;
      };
      answer: Ramp;
    };
    /** Pause a running ramp: its mail waits, and days do not pass */
    '/ramps/{id}/pause': {
      request: {
        path: {
          /** The id of the ramp */
          id: string;
        };
        idempotencyKey?: string;
      };
      answer: Ramp;
    };
    /** Resume a paused or stopped ramp on the same day */
    '/ramps/{id}/resume': {
      request: {
        path: {
          /** The id of the ramp */
          id: string;
        };
        idempotencyKey?: string;
      };
      answer: Ramp;
    };
    /** Add up to 1,000 addresses to the suppression list */
    '/suppression-list': {
      request: {
        body: AddSuppressionsRequest;
        idempotencyKey?: string;
      };
      answer: SuppressionsRecorded;
    };
    /** Create a segment, by a condition or with hand-picked members */
    '/segments': {
      request: {
        body: CreateSegmentRequest;
        idempotencyKey?: string;
      };
      answer: Segment;
    };
    /** Add contacts to a STATIC segment; records no events */
    '/segments/{id}/members': {
      request: {
        path: {
          /** The id of the segment */
          id: string;
        };
        body: AddSegmentMembersRequest;
        idempotencyKey?: string;
      };
      answer: {
        added: number;
        created: number;
        notFound: Array<string>;
      };
    };
    /** Compute the members of a tracked segment, with an event for each change */
    '/segments/{id}/compute': {
      request: {
        path: {
          /** The id of the segment */
          id: string;
        };
        idempotencyKey?: string;
      };
      answer: {
        added: number;
        removed: number;
        total: number;
      };
    };
    /** Count the members of a segment; records no events */
    '/segments/{id}/refresh': {
      request: {
        path: {
          /** The id of the segment */
          id: string;
        };
        idempotencyKey?: string;
      };
      answer: {
        memberCount: number;
      };
    };
    /** Create a template */
    '/templates': {
      request: {
        body: CreateTemplateRequest;
        idempotencyKey?: string;
      };
      answer: Template;
    };
    /** Copy a template */
    '/templates/{id}/duplicate': {
      request: {
        path: {
          /** The id of the template */
          id: string;
        };
        idempotencyKey?: string;
      };
      answer: Template;
    };
    /** Delete many templates: all of them or none */
    '/templates/bulk-update': {
      request: {
        body: BulkUpdateTemplatesRequest;
        idempotencyKey?: string;
      };
      answer: BulkDeleted | BulkUnchanged;
    };
    /** Render a template that is not saved, with its warnings */
    '/templates/preview': {
      request: {
        body: PreviewTemplateRequest;
        idempotencyKey?: string;
      };
      answer: {
        success: true;
        data: TemplatePreview;
      };
    };
    /** Render a template, with its warnings */
    '/templates/{id}/preview': {
      request: {
        path: {
          /** The id of the template */
          id: string;
        };
        body?: PreviewStoredTemplateRequest;
        idempotencyKey?: string;
      };
      answer: {
        success: true;
        data: TemplatePreview;
      };
    };
    /** Send a template that is not saved to one address, as a test */
    '/templates/test': {
      request: {
        body: TestTemplateRequest;
        idempotencyKey?: string;
      };
      answer: {
        success: true;
        message: string;
      };
    };
    /** Create a workflow, with its trigger or with its whole graph */
    '/workflows': {
      request: {
        body: CreateWorkflowRequest;
        idempotencyKey?: string;
      };
      answer: Workflow;
    };
    /** Copy a workflow with its graph, not enabled */
    '/workflows/{id}/duplicate': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
        };
        idempotencyKey?: string;
      };
      answer: Workflow;
    };
    /** Delete many workflows: all of them or none */
    '/workflows/bulk-update': {
      request: {
        body: BulkUpdateWorkflowsRequest;
        idempotencyKey?: string;
      };
      answer: BulkDeleted | BulkUnchanged;
    };
    /** Add a step; by default it follows the newest end of the graph */
    '/workflows/{id}/steps': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
        };
        body: CreateStepRequest;
        idempotencyKey?: string;
      };
      answer: Step;
    };
    /** Put a new step into the middle of a transition */
    '/workflows/{id}/transitions/{transitionId}/insert-step': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
          /** The id of a transition */
          transitionId: string;
        };
        body: InsertStepRequest;
        idempotencyKey?: string;
      };
      answer: Step;
    };
    /** Add a transition from one step to another */
    '/workflows/{id}/transitions': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
        };
        body: CreateTransitionRequest;
        idempotencyKey?: string;
      };
      answer: Transition;
    };
    /** Restore a version of a workflow, as its newest version */
    '/workflows/{id}/versions/{version}/restore': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
          /** A version of the workflow */
          version: number;
        };
        idempotencyKey?: string;
      };
      answer: WorkflowGraph;
    };
  };
  put: {
    /** Change a campaign; a whole record can be sent back */
    '/campaigns/{id}': {
      request: {
        path: {
          /** The id of the campaign */
          id: string;
        };
        body?: UpdateCampaignRequest;
        ifMatch?: string;
      };
      answer: {
        success: true;
        data: Campaign;
      };
    };
    /** Set the topic choices of a contact */
    '/contacts/{id}/topics': {
      request: {
        path: {
          /** The id of the contact */
          id: string;
        };
        body: UpdateContactTopicsRequest;
      };
      answer: Array<ContactTopic>;
    };
    /** Set the monthly sending limits of a project */
    '/users/@me/projects/{id}/billing-limits': {
      request: {
        path: {
          /** The id of the project */
          id: string;
        };
        body?: SetBillingLimitsRequest;
      };
      answer: BillingLimits;
    };
    /** Replace the routes: which mail leaves by which mail provider */
    '/routing': {
      request: {
        body: SetRoutingRequest;
      };
      answer: Routing;
    };
    /** Set a secret; WEBHOOK steps use it as {{secret.NAME}} in url, headers and body */
    '/secrets/{name}': {
      request: {
        path: {
          /** The name of a secret */
          name: string;
        };
        body: SetSecretRequest;
      };
      answer: undefined;
    };
    /** Set the send policy: when marketing mail may reach contacts, and how often */
    '/send-policy': {
      request: {
        body?: SetSendPolicyRequest;
      };
      answer: SendPolicy;
    };
    /** Set the link policy: the UTM parameters of links in mail */
    '/link-policy': {
      request: {
        body?: SetLinkPolicyRequest;
      };
      answer: LinkPolicy;
    };
    /** Set the hold-out: the share of contacts that gets no marketing mail */
    '/holdout': {
      request: {
        body?: SetHoldoutRequest;
      };
      answer: Holdout;
    };
    /** Set the consent policy of the project */
    '/consent-policy': {
      request: {
        body?: SetConsentPolicyRequest;
      };
      answer: ConsentPolicy;
    };
    /** Set the sign-in policy of a project: what its members need to sign in */
    '/users/@me/projects/{id}/sign-in-policy': {
      request: {
        path: {
          /** The id of the project */
          id: string;
        };
        body?: SetSignInPolicyRequest;
      };
      answer: SignInPolicy;
    };
    /** Replace the graph of a workflow in one edit */
    '/workflows/{id}/graph': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
        };
        body: WorkflowGraphInput;
        ifMatch?: string;
      };
      answer: WorkflowGraph;
    };
  };
  patch: {
    /** Change a contact; data is merged key by key, null clears all of it */
    '/contacts/{id}': {
      request: {
        path: {
          /** The id of the contact */
          id: string;
        };
        body?: UpdateContactRequest;
        ifMatch?: string;
      };
      answer: Contact;
    };
    /** Reschedule waiting mail */
    '/emails/{id}': {
      request: {
        path: {
          /** The id of the email */
          id: string;
        };
        body: UpdateEmailRequest;
      };
      answer: Email;
    };
    /** Change the name, description or visibility of a topic */
    '/topics/{id}': {
      request: {
        path: {
          /** The id of the topic */
          id: string;
        };
        body?: UpdateTopicRequest;
      };
      answer: Topic;
    };
    /** Change, pause, disable or enable an event subscription */
    '/event-subscriptions/{id}': {
      request: {
        path: {
          /** An id as GET /event-subscriptions lists it */
          id: string;
        };
        body?: UpdateEventSubscriptionRequest;
      };
      answer: EventSubscription;
    };
    /** Move the end of an execution's current delay or wait */
    '/workflows/{id}/executions/{executionId}/wait': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
          /** The id of an execution */
          executionId: string;
        };
        body: MoveWaitRequest;
      };
      answer: MovedExecution;
    };
    /** Rename a second factor */
    '/users/@me/factors/{id}': {
      request: {
        path: {
          /** The id of the factor */
          id: string;
        };
        body: RenameMyFactorRequest;
      };
      answer: Factor;
    };
    /** Change the settings of a project */
    '/users/@me/projects/{id}': {
      request: {
        path: {
          /** The id of the project */
          id: string;
        };
        body?: UpdateProjectRequest;
      };
      answer: Project;
    };
    /** Change the role of a member or invited user */
    '/projects/{id}/members/{userId}': {
      request: {
        path: {
          /** The id of the project */
          id: string;
          /** The id of a user */
          userId: string;
        };
        body: UpdateMemberRequest;
      };
      answer: {
        success: true;
        data: Member;
      };
    };
    /** Change a sender domain */
    '/domains/{id}': {
      request: {
        path: {
          /** The id of the domain */
          id: string;
        };
        body?: UpdateDomainRequest;
      };
      answer: Domain;
    };
    /** Change, disable or enable a mail provider */
    '/providers/{id}': {
      request: {
        path: {
          /** A uuid, or the name of a provider that the operator has set up */
          id: string;
        };
        body?: UpdateProviderRequest;
      };
      answer: SmtpProvider | SesProvider;
    };
    /** Change the name, scopes, restrictions or end of a named key */
    '/api-keys/{id}': {
      request: {
        path: {
          /** An id as GET /api-keys lists it */
          id: string;
        };
        body?: UpdateApiKeyRequest;
      };
      answer: ApiKey;
    };
    /** Change a segment; a new condition is counted at once */
    '/segments/{id}': {
      request: {
        path: {
          /** The id of the segment */
          id: string;
        };
        body?: UpdateSegmentRequest;
        ifMatch?: string;
      };
      answer: {
        id: string;
        name: string;
        description: string | null;
        type: 'DYNAMIC' | 'STATIC';
        condition: Condition | null;
        /** The condition as a list, when it can be written so */
        filters: FlatCondition | null;
        trackMembership: boolean;
        /** The last count; unsubscribed contacts are included */
        memberCount: number;
        projectId: string;
        createdAt: string;
        updatedAt: string;
        /** Absent when there are none */
        warnings?: Array<{
          code: 'event_renamed';
          eventName: string;
          message: string;
        }>;
      };
    };
    /** Change a template */
    '/templates/{id}': {
      request: {
        path: {
          /** The id of the template */
          id: string;
        };
        body?: UpdateTemplateRequest;
        ifMatch?: string;
      };
      answer: Template;
    };
    /** Change, enable or disable a workflow */
    '/workflows/{id}': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
        };
        body?: UpdateWorkflowRequest;
      };
      answer: Workflow;
    };
    /** Change a step; its type cannot change */
    '/workflows/{id}/steps/{stepId}': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
          /** The id of a step */
          stepId: string;
        };
        body?: UpdateStepRequest;
      };
      answer: Step;
    };
  };
  delete: {
    /** Delete a contact with its events, emails, memberships and executions */
    '/contacts/{id}': {
      request: {
        path: {
          /** The id of the contact */
          id: string;
        };
      };
      answer: undefined;
    };
    /** Delete a campaign; its sent mail stays in the activity feed */
    '/campaigns/{id}': {
      request: {
        path: {
          /** The id of the campaign */
          id: string;
        };
      };
      answer: {
        success: true;
        message: string;
      };
    };
    /** Cancel waiting mail; it is never sent */
    '/emails/{id}': {
      request: {
        path: {
          /** The id of the email */
          id: string;
        };
      };
      answer: Email;
    };
    /** Delete a topic, with the choices of contacts */
    '/topics/{id}': {
      request: {
        path: {
          /** The id of the topic */
          id: string;
        };
      };
      answer: undefined;
    };
    /** Delete an unused field from every contact */
    '/contacts/fields/{field}': {
      request: {
        path: {
          /** `data.plan`, or `plan`; or a standard field */
          field: string;
        };
      };
      answer: {
        deletedFrom: number;
      };
    };
    /** Delete all events of an unused name */
    '/events/{eventName}': {
      request: {
        path: {
          /** The name of an event */
          eventName: string;
        };
      };
      answer: {
        deletedCount: number;
      };
    };
    /** Delete an event subscription with its deliveries and secrets */
    '/event-subscriptions/{id}': {
      request: {
        path: {
          /** An id as GET /event-subscriptions lists it */
          id: string;
        };
      };
      answer: undefined;
    };
    /** Cancel an active execution */
    '/workflows/{id}/executions/{executionId}': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
          /** The id of an execution */
          executionId: string;
        };
      };
      answer: Execution;
    };
    /** Delete the account of the logged-in user */
    '/users/@me': {
      request: {
        body?: DeleteMeRequest;
      };
      answer: {
        success: true;
        message: string;
      };
    };
    /** End all sessions of the logged-in user but this one */
    '/users/@me/sessions': {
      request: {};
      answer: {
        success: true;
        ended: number;
      };
    };
    /** End one session of the logged-in user */
    '/users/@me/sessions/{id}': {
      request: {
        path: {
          /** The id of the session */
          id: string;
        };
      };
      answer: {
        success: true;
        message: string;
      };
    };
    /** Remove a link to an identity provider */
    '/users/@me/identities/{id}': {
      request: {
        path: {
          /** The id of the identity */
          id: string;
        };
      };
      answer: undefined;
    };
    /** Remove a second factor; with the last one, the recovery codes */
    '/users/@me/factors/{id}': {
      request: {
        path: {
          /** The id of the factor */
          id: string;
        };
      };
      answer: undefined;
    };
    /** Delete a project with all that belongs to it */
    '/users/@me/projects/{id}': {
      request: {
        path: {
          /** The id of the project */
          id: string;
        };
      };
      answer: {
        success: true;
        message: string;
      };
    };
    /** End a membership, or withdraw an invitation */
    '/projects/{id}/members/{userId}': {
      request: {
        path: {
          /** The id of the project */
          id: string;
          /** The id of a user */
          userId: string;
        };
      };
      answer: {
        success: true;
        data: {
          message: string;
        };
      };
    };
    /** Leave a project, or decline the invitation to it */
    '/users/@me/projects/{id}/membership': {
      request: {
        path: {
          /** The id of the project */
          id: string;
        };
      };
      answer: {
        success: true;
        message: string;
      };
    };
    /** Delete an uploaded file */
    '/uploads/files/{key}': {
      request: {
        path: {
          /** The key of a file, as in its URL */
          key: string;
        };
      };
      answer: undefined;
    };
    /** Remove a sender domain */
    '/domains/{id}': {
      request: {
        path: {
          /** The id of the domain */
          id: string;
        };
      };
      answer: {
        success: true;
      };
    };
    /** Delete a mail provider that nothing uses */
    '/providers/{id}': {
      request: {
        path: {
          /** A uuid, or the name of a provider that the operator has set up */
          id: string;
        };
      };
      answer: undefined;
    };
    /** Revoke a named key for ever, and all keys that it made */
    '/api-keys/{id}': {
      request: {
        path: {
          /** An id as GET /api-keys lists it */
          id: string;
        };
      };
      answer: undefined;
    };
    /** Remove an unused secret */
    '/secrets/{name}': {
      request: {
        path: {
          /** The name of a secret */
          name: string;
        };
      };
      answer: undefined;
    };
    /** Delete a ramp, in any state */
    '/ramps/{id}': {
      request: {
        path: {
          /** The id of the ramp */
          id: string;
        };
      };
      answer: undefined;
    };
    /** Remove an address from the suppression list */
    '/suppression-list/{email}': {
      request: {
        path: {
          /** An address, in any case */
          email: string;
        };
      };
      answer: undefined;
    };
    /** Delete an unused segment; its contacts stay */
    '/segments/{id}': {
      request: {
        path: {
          /** The id of the segment */
          id: string;
        };
      };
      answer: undefined;
    };
    /** Remove contacts from a STATIC segment; records no events */
    '/segments/{id}/members': {
      request: {
        path: {
          /** The id of the segment */
          id: string;
        };
        body: RemoveSegmentMembersRequest;
      };
      answer: {
        removed: number;
      };
    };
    /** Delete a template */
    '/templates/{id}': {
      request: {
        path: {
          /** The id of the template */
          id: string;
        };
      };
      answer: undefined;
    };
    /** Delete a workflow with its ended executions; emails stay */
    '/workflows/{id}': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
        };
      };
      answer: undefined;
    };
    /** Remove a step with the steps reachable only through it, or alone with splice=true */
    '/workflows/{id}/steps/{stepId}': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
          /** The id of a step */
          stepId: string;
        };
        query?: {
          /** true: its incoming transitions lead to its successor */
          splice?: 'true' | 'false';
        };
      };
      answer: undefined;
    };
    /** Remove a transition */
    '/workflows/{id}/transitions/{transitionId}': {
      request: {
        path: {
          /** The id of the workflow */
          id: string;
          /** The id of a transition */
          transitionId: string;
        };
      };
      answer: undefined;
    };
  };
}

export type ErrorAnswer = {
  success: false;
  error: {
    code: 'INVALID_REQUEST_BODY' | 'PROJECT_ID_REQUIRED' | 'INVALID_IDEMPOTENCY_KEY' | 'INVALID_TOKEN' | 'FILE_CONTENT_MISMATCH' | 'SUBSCRIPTION_EXISTS' | 'SUBSCRIPTION_REQUIRED' | 'CUSTOMER_REQUIRED' | 'INVALID_SUBSCRIBE_URL' | 'INVALID_NOTIFICATION' | 'MISSING_SIGNATURE' | 'CAMPAIGN_NOT_EDITABLE' | 'CAMPAIGN_SEGMENT_LOCKED' | 'CAMPAIGN_NOT_SENDABLE' | 'CAMPAIGN_NOT_CANCELLABLE' | 'CAMPAIGN_NOT_ARCHIVABLE' | 'CAMPAIGN_NOT_PAUSABLE' | 'CAMPAIGN_NOT_RESUMABLE' | 'EXPERIMENT_NOT_RUNNING' | 'CAMPAIGN_NO_RECIPIENTS' | 'CAMPAIGN_NOT_FINISHED' | 'SCHEDULE_IN_PAST' | 'CONTACT_UNSUBSCRIBED' | 'WORKFLOW_NOT_ENABLED' | 'TRIGGER_STEP_REQUIRED' | 'TRIGGER_STEP_EXISTS' | 'SEGMENT_NOT_STATIC' | 'SEGMENT_NOT_TRACKED' | 'STEP_NOT_SPLICEABLE' | 'TRANSITION_SELF' | 'TRANSITION_FROM_EXIT' | 'TRANSITION_TO_TRIGGER' | 'TRANSITION_EXISTS' | 'TRANSITION_BRANCH_EXISTS' | 'TRANSITION_LOOP' | 'FIELD_NOT_DELETABLE' | 'RESERVED_EVENT' | 'EVENT_SUBSCRIPTION_LIMIT' | 'EVENT_SUBSCRIPTION_NOT_ENABLED' | 'CONSENT_SENDER_REQUIRED' | 'DOMAIN_NOT_SIGNING' | 'RAMP_LIMIT' | 'TOPIC_LIMIT' | 'PROVIDER_LIMIT' | 'FACTOR_LIMIT' | 'INVALID_PASSKEY' | 'INVALID_LOGOUT_TOKEN' | 'API_KEY_LIMIT' | 'SECRET_LIMIT' | 'MISSING_AUTH' | 'INVALID_API_KEY' | 'UNAUTHORIZED' | 'INVALID_CREDENTIALS' | 'SECOND_FACTOR_PENDING' | 'INVALID_CODE' | 'BILLING_LIMIT_EXCEEDED' | 'FORBIDDEN' | 'PROJECT_ACCESS_DENIED' | 'PROJECT_DISABLED' | 'INSUFFICIENT_ROLE' | 'INSUFFICIENT_SCOPE' | 'KEY_RESTRICTED' | 'SESSION_REQUIRED' | 'PASSWORD_SIGN_IN_DISABLED' | 'SSO_REQUIRED' | 'EMAIL_VERIFICATION_REQUIRED' | 'REAUTHENTICATION_REQUIRED' | 'SECOND_FACTOR_REQUIRED' | 'ORIGIN_NOT_ALLOWED' | 'DOMAIN_NOT_REGISTERED' | 'DOMAIN_NOT_VERIFIED' | 'TEST_RECIPIENT_NOT_ALLOWED' | 'OWNER_PROTECTED' | 'SELF_REMOVAL' | 'INVALID_SIGNATURE' | 'SIGNUPS_DISABLED' | 'CONTACT_NOT_FOUND' | 'SEGMENT_NOT_FOUND' | 'TEMPLATE_NOT_FOUND' | 'CAMPAIGN_NOT_FOUND' | 'EXPERIMENT_NOT_FOUND' | 'WORKFLOW_NOT_FOUND' | 'STEP_NOT_FOUND' | 'TRANSITION_NOT_FOUND' | 'VERSION_NOT_FOUND' | 'EXECUTION_NOT_FOUND' | 'DOMAIN_NOT_FOUND' | 'PROJECT_NOT_FOUND' | 'MEMBER_NOT_FOUND' | 'USER_NOT_FOUND' | 'FILE_NOT_FOUND' | 'BILLING_DISABLED' | 'OAUTH_NOT_CONFIGURED' | 'JOB_NOT_FOUND' | 'EMAIL_NOT_FOUND' | 'EVENT_SUBSCRIPTION_NOT_FOUND' | 'EVENT_DELIVERY_NOT_FOUND' | 'TOPIC_NOT_FOUND' | 'RAMP_NOT_FOUND' | 'ERASURE_NOT_FOUND' | 'SUPPRESSION_NOT_FOUND' | 'PROVIDER_NOT_FOUND' | 'FACTOR_NOT_FOUND' | 'IDENTITY_NOT_FOUND' | 'API_KEY_NOT_FOUND' | 'SECRET_NOT_FOUND' | 'PLAN_NOT_FOUND' | 'REQUEST_NOT_FOUND' | 'RESOURCE_NOT_FOUND' | 'ROUTE_NOT_FOUND' | 'METHOD_NOT_ALLOWED' | 'IDEMPOTENCY_KEY_REUSED' | 'IDEMPOTENCY_IN_PROGRESS' | 'CONFLICT' | 'MEMBER_MANAGED' | 'MEMBER_EXISTS' | 'CONTACT_EXISTS' | 'CONTACT_SUPPRESSED' | 'EMAIL_TAKEN' | 'KEY_ROTATION_PENDING' | 'DOMAIN_EXISTS' | 'TOPIC_EXISTS' | 'FACTOR_NEEDED' | 'LAST_SIGN_IN_METHOD' | 'API_KEY_EXPIRED' | 'RAMP_EXISTS' | 'RAMP_NOT_RUNNING' | 'RAMP_NOT_PAUSED' | 'EXPERIMENT_DECIDED' | 'CAMPAIGN_ACTIVE' | 'SEGMENT_IN_USE' | 'DOMAIN_IN_USE' | 'TEMPLATE_IN_USE' | 'FIELD_IN_USE' | 'EVENT_IN_USE' | 'REPLAY_IN_PROGRESS' | 'EVENT_DELIVERY_NOT_RETRYABLE' | 'TOPIC_IN_USE' | 'PROVIDER_EXISTS' | 'PROVIDER_IN_USE' | 'SECRET_IN_USE' | 'WORKFLOW_HAS_ACTIVE_EXECUTIONS' | 'EXECUTION_EXISTS' | 'EXECUTION_NOT_FAILED' | 'EXECUTION_NOT_ACTIVE' | 'EMAIL_NOT_PENDING' | 'EMAIL_NOT_RESCHEDULABLE' | 'EXECUTION_PAUSED' | 'EXECUTION_NOT_PAUSED' | 'EXECUTION_NOT_WAITING' | 'EXECUTION_NOT_SKIPPABLE' | 'PLAN_STALE' | 'PLAN_BLOCKED' | 'PRECONDITION_FAILED' | 'PAYLOAD_TOO_LARGE' | 'FILE_TOO_LARGE' | 'UPLOAD_QUOTA_EXCEEDED' | 'MESSAGE_TOO_LARGE' | 'UNSUPPORTED_MEDIA_TYPE' | 'VALIDATION_ERROR' | 'CONDITION_TOO_HEAVY' | 'STATS_TOO_HEAVY' | 'WORKFLOW_INVALID' | 'PICTURE_TOO_LARGE' | 'SIMULATION_TOO_LARGE' | 'INVALID_EMAIL' | 'RATE_LIMIT_EXCEEDED' | 'INTERNAL_SERVER_ERROR' | 'UPLOADS_DISABLED' | 'SERVICE_UNAVAILABLE';
    message: string;
    statusCode: number;
    requestId: string;
    suggestion: string;
    details?: Record<string, unknown>;
    errors?: Array<{
      field: string;
      message: string;
      code: string;
      received?: string;
      /** For files */
      line?: number | null;
      /** For files */
      column?: number | null;
    }>;
  };
  timestamp: string;
};

export type MailAddress = {
  name?: string | null;
  email: string;
};

export type SendRequest = {
  to: string | MailAddress | Array<string | MailAddress>;
  /** Refused */
  cc?: never;
  /** Refused */
  bcc?: never;
  subject?: string;
  body?: string;
  template?: string;
  from?: string | MailAddress;
  name?: string;
  reply?: string;
  subscribed?: boolean;
  headers?: Record<string, string>;
  data?: Record<string, unknown> | null;
  attachments?: Array<{
    filename: string;
    content: string;
    contentType: string;
    disposition?: 'attachment' | 'inline';
    contentId?: string;
  }>;
  /** Send time; absent or null: now */
  scheduledFor?: string | number | null;
};

export type SentEmail = {
  contact: {
    id: string;
    email: string;
  };
  email: string;
};

export type SendWarning = {
  code: 'liquid_syntax' | 'liquid_limit';
  message: string;
  line: number | null;
  column: number | null;
};

export type SendBatchRequest = {
  messages: Array<SendRequest>;
  /** All messages are accepted, or none */
  atomic?: boolean;
};

export type AcceptedMessage = {
  success: true;
  data: {
    emails: Array<SentEmail>;
    warnings?: Array<SendWarning>;
    /** Only if the request has one */
    scheduledFor?: string;
    timestamp: string;
  };
};

export type RefusedMessage = {
  success: false;
  error: MessageRefusal;
};

export type MessageRefusal = {
  code: string;
  message: string;
  statusCode: number;
  requestId: string;
  errors?: Array<{
    field: string;
    message: string;
    code: string;
    received?: string;
  }>;
  suggestion: string;
  details?: Record<string, unknown>;
};

export type TrackRequest = {
  email: string;
  event: string;
  subscribed?: boolean;
  data?: Record<string, unknown> | null;
  /** Double opt-in: `subscribed` and `topics` apply once the owner of the address has confirmed */
  confirm?: boolean;
  /** Keys of topics to subscribe the contact to; with a public key, only public topics */
  topics?: Array<string>;
  /** For the consent log; with a public key only `text` is used */
  proof?: {
    /** Text that the person has read */
    text?: string;
    ip?: string;
    userAgent?: string;
  };
};

export type TrackedEvent = {
  contact: string;
  event: string;
  timestamp: string;
};

export type VerifyRequest = {
  email: string;
};

export type ContactList = {
  data: Array<Contact>;
  cursor?: string;
  hasMore: boolean;
  /** All matches, on the first page; 0 on later ones */
  total: number;
};

export type Contact = {
  id: string;
  email: string;
  subscribed: boolean;
  data: Record<string, unknown> | null;
  /** The state of the newest opt-in request; absent: there was none */
  consent?: 'pending' | 'confirmed' | 'expired';
  projectId: string;
  createdAt: string;
  updatedAt: string;
};

export type UpsertContactRequest = {
  email: string;
  subscribed?: boolean;
  data?: Record<string, unknown> | null;
  /** Double opt-in: `subscribed` and `topics` apply once the owner of the address has confirmed */
  confirm?: boolean;
  /** Keys of topics to subscribe the contact to; with a public key, only public topics */
  topics?: Array<string>;
  /** For the consent log; with a public key only `text` is used */
  proof?: {
    /** Text that the person has read */
    text?: string;
    ip?: string;
    userAgent?: string;
  };
};

export type UpdateContactRequest = {
  email?: string;
  subscribed?: boolean;
  data?: Record<string, unknown> | null;
};

export type CampaignPage = {
  data: Array<Campaign>;
  total: number;
  page: number;
  pageSize: number;
  totalPages: number;
};

export type CampaignSegment = {
  id: string;
  name: string;
};

export type Campaign = {
  id: string;
  name: string;
  description: string | null;
  subject: string;
  body: string;
  from: string;
  fromName: string | null;
  replyTo: string | null;
  templateId: string | null;
  /** The same as audienceType */
  type: 'ALL' | 'SEGMENT' | 'FILTERED' | 'FOLLOW_UP';
  audienceType: 'ALL' | 'SEGMENT' | 'FILTERED' | 'FOLLOW_UP';
  segmentId: string | null;
  segment: CampaignSegment | null;
  audienceCondition: Condition | null;
  /** The condition as a list, if it can be one */
  audienceFilter: FlatCondition | null;
  /** Only with FOLLOW_UP */
  followUp?: {
    /** The campaign that is followed up; it may be deleted */
    campaignId: string;
    outcome: 'not_opened' | 'not_clicked' | 'failed' | 'not_sent';
    ignoreMachines: boolean;
    /** When the recipients of the follow-up were chosen. Opens and clicks after it do not count */
    asOf: string;
  };
  messageType: 'MARKETING' | 'TRANSACTIONAL' | 'HEADLESS';
  status: 'DRAFT' | 'SCHEDULED' | 'SENDING' | 'PAUSED' | 'SENT' | 'CANCELLED';
  scheduledFor: string | null;
  /** The same as scheduledFor */
  scheduledAt: string | null;
  /** Local time at which each contact gets it; null: all at once */
  localTime: string | null;
  /** For contacts whose localTime had passed when it began; null without localTime */
  late: 'send' | 'skip' | null;
  /** Maximum number of mails per minute; null: no limit of its own */
  maxPerMinute: number | null;
  /** UTM parameters of its links, over those of the link policy */
  utm?: CampaignUtm;
  /** The event that its mail should lead to */
  goal?: Goal;
  /** Versions of the campaign, and how one is chosen */
  experiment?: CampaignExperiment;
  sentAt: string | null;
  /** Topic of marketing mail */
  topicId?: string;
  /** Who created it; null: not known */
  createdBy: Actor | null;
  /** Who sent or scheduled it last; null: not sent yet */
  sentBy: Actor | null;
  pausedReason: 'requested' | 'provider_failures' | null;
  archived: boolean;
  /** The last count; the final number once it is SENT */
  totalRecipients: number;
  sentCount: number;
  deliveredCount: number;
  openedCount: number;
  clickedCount: number;
  bouncedCount: number;
  complainedCount: number;
  unsubscribedCount: number;
  projectId: string;
  createdAt: string;
  updatedAt: string;
};

export type Condition = {
  logic: 'AND' | 'OR';
  groups: Array<{
    filters?: Array<{
      field: string;
      operator: 'equals' | 'notEquals' | 'contains' | 'notContains' | 'greaterThan' | 'lessThan' | 'greaterThanOrEqual' | 'lessThanOrEqual' | 'exists' | 'notExists' | 'within' | 'olderThan' | 'triggered' | 'notTriggered' | 'triggeredWithin' | 'triggeredOlderThan' | 'notTriggeredWithin' | 'memberOfSegment' | 'notMemberOfSegment';
      value?: unknown;
      unit?: 'minutes' | 'hours' | 'days';
    }>;
    /** A condition inside this group */
    conditions?: Record<string, unknown> | null;
  }>;
};

export type FlatCondition = {
  operator: 'AND' | 'OR';
  conditions: Array<{
    field: string;
    operator: 'equals' | 'notEquals' | 'contains' | 'notContains' | 'greaterThan' | 'lessThan' | 'greaterThanOrEqual' | 'lessThanOrEqual' | 'exists' | 'notExists' | 'within' | 'olderThan' | 'triggered' | 'notTriggered' | 'triggeredWithin' | 'triggeredOlderThan' | 'notTriggeredWithin' | 'memberOfSegment' | 'notMemberOfSegment';
    value?: unknown;
    unit?: 'minutes' | 'hours' | 'days';
  }>;
};

export type CampaignUtm = {
  source?: string | null;
  medium?: string | null;
  campaign?: string | null;
  term?: string | null;
  content?: string | null;
};

export type Goal = {
  eventName: string;
  valueField?: string;
  windowDays: number;
  touch: 'sent' | 'open' | 'click';
};

export type CampaignExperiment = {
  arms: Array<CampaignArm>;
  /** Share of the recipients that is the test group */
  testPercent: number;
  /** Time from the last mail of the test group to the decision */
  decideAfterSeconds: number;
  metric: 'human_click' | 'human_open' | 'event';
  eventName?: string;
  minPerArm: number;
  minProbability: number | null;
  onTie: 'first' | 'manual';
};

export type CampaignArm = {
  id: string;
  name?: string;
  subject?: string;
  body?: string;
  from?: string;
  fromName?: string;
  replyTo?: string;
  templateId?: string;
};

export type Actor = {
  /** `contact`: by a link of a mail, or a page. `system`: without a request */
  type: 'user' | 'key' | 'contact' | 'system';
  /** Id of the user, named key or contact; `secret` or `public` for a key of the pair; null for `system` */
  id: string | null;
  /** Address of the user, or name of the key, null when it is gone; `Secret key` or `Public key` for the pair; null for a contact; `schedule`, `segment`, `inbound`, `feedback` or `server` for `system` */
  name: string | null;
};

export type ConditionInput = Condition | FlatCondition;

export type UtmInput = {
  source?: string | null;
  medium?: string | null;
  campaign?: string | null;
  term?: string | null;
  content?: string | null;
};

export type GoalInput = {
  /** The event that the mail should lead to, such as a purchase */
  eventName: string;
  /** A number in the event's data, such as order.total, which is summed up */
  valueField?: string;
  /** How long after the touch the event counts, in days of 24 hours */
  windowDays: number;
  /** The recipient must have opened or clicked the mail before; `sent`: it was only sent */
  touch?: 'sent' | 'open' | 'click';
};

export type CreateCampaignRequestExperiment = {
  /** Versions of the campaign. Parts left out are those of the template or campaign */
  arms: Array<{
    /** 1 to 20 of the characters a-z, 0-9, `_` and `-`, unique in the experiment */
    id: string;
    name?: string | null;
    subject?: string | null;
    body?: string | null;
    from?: string | null;
    fromName?: string | null;
    replyTo?: string | null;
    templateId?: string | null;
  }>;
  /** Share of the recipients that is the test group */
  testPercent: number;
  /** Time from the last mail of the test group to the decision */
  decideAfterSeconds: number;
  metric: 'human_click' | 'human_open' | 'event';
  /** Required with the metric `event`, and only with it */
  eventName?: string | null;
  /** Sent mails that each arm needs for a decision by the metric */
  minPerArm?: number;
  /** Percent that `probabilityBest` of the best arm must reach; null: none */
  minProbability?: number | null;
  /** If the numbers do not decide: the first arm wins, or the experiment waits for a decision */
  onTie?: 'first' | 'manual';
};

export type CreateCampaignRequest = {
  name: string;
  description?: string | null;
  subject?: string;
  body?: string;
  from?: string;
  fromName?: string | null;
  replyTo?: string | null;
  templateId?: string | null;
  /** Only with the type MARKETING; by default the template's */
  topicId?: string | null;
  audienceType?: 'ALL' | 'SEGMENT' | 'FILTERED';
  /** Only with SEGMENT */
  segmentId?: string | null;
  /** Only with FILTERED */
  audienceFilter?: ConditionInput | null;
  /** Instead of audienceFilter */
  audienceCondition?: ConditionInput | null;
  messageType?: 'MARKETING' | 'TRANSACTIONAL' | 'HEADLESS';
  /** Maximum number of mails per minute; null: no limit of its own */
  maxPerMinute?: number | null;
  /** UTM parameters of its links, over those of the link policy by key; null for a key removes its parameter */
  utm?: UtmInput | null;
  /** The event that it is sent for; null removes the goal */
  goal?: GoalInput | null;
  /** Sends several versions to a test group, and the best one to the rest; null: none */
  experiment?: CreateCampaignRequestExperiment | null;
  /** An audienceType or a messageType, in place of that field */
  type?: 'ALL' | 'SEGMENT' | 'FILTERED' | 'MARKETING' | 'TRANSACTIONAL' | 'HEADLESS';
};

export type UpdateCampaignRequestExperiment = {
  /** Versions of the campaign. Parts left out are those of the template or campaign */
  arms: Array<{
    /** 1 to 20 of the characters a-z, 0-9, `_` and `-`, unique in the experiment */
    id: string;
    name?: string | null;
    subject?: string | null;
    body?: string | null;
    from?: string | null;
    fromName?: string | null;
    replyTo?: string | null;
    templateId?: string | null;
  }>;
  /** Share of the recipients that is the test group */
  testPercent: number;
  /** Time from the last mail of the test group to the decision */
  decideAfterSeconds: number;
  metric: 'human_click' | 'human_open' | 'event';
  /** Required with the metric `event`, and only with it */
  eventName?: string | null;
  /** Sent mails that each arm needs for a decision by the metric */
  minPerArm?: number;
  /** Percent that `probabilityBest` of the best arm must reach; null: none */
  minProbability?: number | null;
  /** If the numbers do not decide: the first arm wins, or the experiment waits for a decision */
  onTie?: 'first' | 'manual';
};

export type UpdateCampaignRequest = {
  name?: string;
  description?: string | null;
  subject?: string;
  body?: string;
  from?: string;
  fromName?: string | null;
  replyTo?: string | null;
  templateId?: string | null;
  /** Only with the type MARKETING; by default the template's */
  topicId?: string | null;
  audienceType?: 'ALL' | 'SEGMENT' | 'FILTERED' | 'FOLLOW_UP';
  /** Only with SEGMENT */
  segmentId?: string | null;
  /** Only with FILTERED */
  audienceFilter?: ConditionInput | null;
  /** Instead of audienceFilter */
  audienceCondition?: ConditionInput | null;
  messageType?: 'MARKETING' | 'TRANSACTIONAL' | 'HEADLESS';
  /** Maximum number of mails per minute; null: no limit of its own */
  maxPerMinute?: number | null;
  /** UTM parameters of its links, over those of the link policy by key; null for a key removes its parameter */
  utm?: UtmInput | null;
  /** The event that it is sent for; null removes the goal */
  goal?: GoalInput | null;
  /** Sends several versions to a test group, and the best one to the rest; null: none */
  experiment?: UpdateCampaignRequestExperiment | null;
  /** An audienceType or a messageType, in place of that field */
  type?: 'ALL' | 'SEGMENT' | 'FILTERED' | 'FOLLOW_UP' | 'MARKETING' | 'TRANSACTIONAL' | 'HEADLESS';
};

export type BulkUpdateCampaignsRequest = {
  ids: Array<string>;
  delete?: boolean;
};

export type BulkDeleted = {
  deleted: number;
};

export type BulkUnchanged = {
  updated: 0;
};

export type FollowUpCampaignRequest = {
  /** Who gets it: recipients without an open or click, without a click, whose mail failed, or whose mail failed or was withheld */
  outcome: 'not_opened' | 'not_clicked' | 'failed' | 'not_sent';
  /** True: opens and clicks that machines made do not count */
  ignoreMachines?: boolean;
  name?: string;
  subject?: string;
  body?: string;
  fromName?: string | null;
  replyTo?: string | null;
};

export type RetryFailedCampaignRequest = {
  /** By default all but frequency_cap */
  reasons?: Array<'provider_refused' | 'provider_unavailable' | 'domain_not_verified' | 'billing_limit' | 'frequency_cap'>;
};

export type SendCampaignRequest = {
  /** Send time; absent: now */
  scheduledFor?: string | number | null;
  /** Send time; absent: now */
  scheduledAt?: string | number | null;
  /** Send time in the zone of each contact; not together with scheduledFor */
  localTime?: string | null;
  /** With localTime, for contacts whose moment has passed: `send` (the default) sends it at once, `skip` does not send it */
  late?: unknown;
};

export type TestCampaignRequest = {
  email: string;
  /** Id of an arm of the experiment; absent: the campaign itself */
  arm?: string | null;
};

export type GoalStats = {
  eventName: string;
  /** Mails that led to at least one event */
  converted: number;
  /** Events */
  conversions: number;
  /** Percent of the sent mails that are `converted` */
  conversionRate: number;
  /** Sum of `valueField` of the events; others than numbers count as 0 */
  value: number;
};

/** Contacts of the audience that are no recipients; null before the audience is fixed */
export type GetCampaignStatsLeftOut = {
  unsubscribed_at_freeze: number;
  topic_unsubscribed_at_freeze: number;
};

export type GetCampaignStatsProgress = {
  /** Messages sent per second, in the last 10 seconds */
  perSecond: number;
  /** Limit on the speed of waiting mail now; null: no mail waits, or nothing limits it */
  limitedBy: 'project_rate' | 'server_rate' | 'campaign_rate' | 'provider' | 'no_worker' | 'operator' | null;
  /** Mail that waits for the local time of its contact */
  scheduledCount: number;
  /** Estimated end at this speed, not before the last send moment; null: unknown yet */
  estimatedEndAt: string | null;
  /** Since when the oldest message is due */
  oldestDueAt: string | null;
};

export type RecipientList = {
  data: Array<Recipient>;
  cursor?: string;
  hasMore: boolean;
  /** All matches, on the first page; 0 on later ones */
  total: number;
};

export type Recipient = {
  contact: {
    id: string;
    email: string;
  };
  /** null: left out, so there is no mail */
  emailId: string | null;
  /** The execution whose step sent it; null: no step did */
  executionId: string | null;
  /** null: left out */
  outcome: 'sent' | 'failed' | 'withheld' | 'held' | 'pending' | 'unknown' | null;
  /** Why it was not sent; null: it was sent */
  reasonCode: 'provider_refused' | 'recipient_refused' | 'provider_unavailable' | 'contact_unsubscribed' | 'topic_unsubscribed' | 'suppressed' | 'held_out' | 'frequency_cap' | 'late' | 'billing_limit' | 'domain_not_verified' | 'project_disabled' | 'campaign_cancelled' | 'execution_ended' | 'cancelled' | 'message_too_large' | 'no_provider' | 'contact_deleted' | 'restored' | 'quiet_hours' | 'warm_up' | 'operator' | 'awaiting_start' | 'campaign_paused' | 'experiment' | 'schedule' | 'retry' | 'queued' | 'delivery_unsettled' | 'delivery_unknown' | 'unsubscribed_at_freeze' | 'topic_unsubscribed_at_freeze' | null;
  /** The provider's text, if it failed or is unknown */
  error: string | null;
  /** Its arm in an experiment; null: none, or not decided yet */
  arm: string | null;
  /** True if it belongs to the test group of an experiment */
  inTest: boolean;
  opens: number;
  clicks: number;
  sentAt: string | null;
  deliveredAt: string | null;
  bouncedAt: string | null;
  openedAt: string | null;
  clickedAt: string | null;
  /** The first open by a person */
  humanOpenedAt: string | null;
  /** The first click by a person */
  humanClickedAt: string | null;
  /** The clicks on the link of the query `link` */
  link?: {
    clicks: number;
    humanClicks: number;
    firstAt: string;
  };
  /** Time of the first event that was the goal */
  convertedAt: string | null;
};

export type Experiment = {
  state: 'DRAFT' | 'TESTING' | 'WAITING' | 'DECIDED' | 'CANCELLED';
  /** null: mail of the test group still waits */
  decideAt: string | null;
  testRecipients: number;
  /** Recipients who get the arm that wins */
  restRecipients: number;
  /** The test group, as of now */
  arms: Array<ExperimentArm>;
  decision: ExperimentDecision | null;
};

export type ExperimentArm = {
  id: string;
  name: string | null;
  recipients: number;
  sent: number;
  delivered: number;
  humanOpened: number;
  humanClicked: number;
  /** Mails with an event of the goal */
  converted: number;
  /** Value of all such events */
  value: number;
  /** Sent mails that count for the metric */
  hits: number;
  /** `hits` as a percentage of `sent` */
  rate: number;
  /** Percent: chance that this arm has the highest rate, within two points */
  probabilityBest: number;
};

export type ExperimentDecision = {
  arm: string;
  by: 'metric' | 'too_few' | 'tie' | 'manual';
  decidedAt: string;
  /** Who has decided; null: the metric, or the time */
  actor: Actor | null;
  /** The numbers of the decision; they do not change */
  numbers: Array<ArmNumbers>;
};

export type ArmNumbers = {
  id: string;
  sent: number;
  /** Sent mails that count for the metric */
  hits: number;
  /** `hits` as a percentage of `sent` */
  rate: number;
  /** Percent: chance that this arm has the highest rate, within two points */
  probabilityBest: number;
};

export type DecideExperimentRequest = {
  /** Id of an arm */
  arm: string;
};

export type LinkList = {
  links: Array<Link>;
};

export type Link = {
  /** Made from the address, so it is the same in all contents. other: the rest */
  linkId: string;
  /** The address as its author wrote it, with variables. null: the rest, or a link from data whose clicks were all in mail that is deleted */
  url: string | null;
  /** Its positions among the tracked links of the content, from 1 on; empty: not in it */
  positions: Array<number>;
  clicks: number;
  /** Mails in which it was clicked */
  emails: number;
  /** Clicks by people */
  humanClicks: number;
  /** Mails in which a person clicked it */
  humanEmails: number;
  /** Clicks by machines, such as scanners */
  machineClicks: number;
  /** Time of the first click */
  firstAt: string | null;
  lastAt: string | null;
};

export type CountCampaignAudienceRequest = {
  audienceType?: 'ALL' | 'SEGMENT' | 'FILTERED';
  /** An audienceType or a messageType, in place of that field */
  type?: 'ALL' | 'SEGMENT' | 'FILTERED' | 'MARKETING' | 'TRANSACTIONAL' | 'HEADLESS';
  /** Only with SEGMENT */
  segmentId?: string | null;
  /** Only with FILTERED */
  audienceFilter?: ConditionInput | null;
  /** Instead of audienceFilter */
  audienceCondition?: ConditionInput | null;
  messageType?: 'MARKETING' | 'TRANSACTIONAL' | 'HEADLESS';
  /** Only with the type MARKETING; by default the template's */
  topicId?: string | null;
};

export type EmailSummaryList = {
  data: Array<EmailSummary>;
  cursor?: string;
  hasMore: boolean;
  /** All matches, on the first page; 0 on later ones */
  total: number;
};

export type EmailSummary = {
  id: string;
  projectId: string;
  contactId: string;
  toName: string | null;
  toEmail: string;
  subject: string;
  from: string;
  fromName: string | null;
  /** The addresses of Reply-To, separated by commas */
  replyTo: string | null;
  headers: Array<{
    name: string;
    value: string;
  }>;
  attachments: Array<{
    filename: string;
    contentType: string;
    disposition: 'attachment' | 'inline';
    contentId: string | null;
    bytes: number;
  }>;
  /** The provider's id of the message */
  messageId: string | null;
  sourceType: 'TRANSACTIONAL' | 'CAMPAIGN' | 'WORKFLOW' | 'INBOUND';
  templateId: string | null;
  campaignId: string | null;
  /** Its arm in an experiment of the campaign */
  arm?: string;
  workflowExecutionId: string | null;
  workflowStepExecutionId: string | null;
  /** Who sent it, sent its campaign or caused its execution; null: not known */
  causedBy: Actor | null;
  topicId?: string;
  /** Its mail provider, if a route has chosen one */
  providerId?: string;
  /** The requested send time; null: at once */
  scheduledFor: string | null;
  /** Why it is PENDING and not due yet; the last reason, if there are several */
  hold: Hold | null;
  status: 'PENDING' | 'SENDING' | 'SENT' | 'DELIVERED' | 'OPENED' | 'CLICKED' | 'BOUNCED' | 'COMPLAINED' | 'FAILED' | 'RECEIVED';
  sentAt: string | null;
  deliveredAt: string | null;
  openedAt: string | null;
  clickedAt: string | null;
  /** The first open by a person */
  humanOpenedAt?: string;
  /** The first click by a person */
  humanClickedAt?: string;
  bouncedAt: string | null;
  complainedAt: string | null;
  opens: number;
  clicks: number;
  error: string | null;
  /** null: received */
  outcome: 'sent' | 'failed' | 'withheld' | 'held' | 'pending' | 'unknown' | null;
  /** Why it was not sent; null: it was sent or received */
  reasonCode: 'provider_refused' | 'recipient_refused' | 'provider_unavailable' | 'contact_unsubscribed' | 'topic_unsubscribed' | 'suppressed' | 'held_out' | 'frequency_cap' | 'late' | 'billing_limit' | 'domain_not_verified' | 'project_disabled' | 'campaign_cancelled' | 'execution_ended' | 'cancelled' | 'message_too_large' | 'no_provider' | 'contact_deleted' | 'restored' | 'quiet_hours' | 'warm_up' | 'operator' | 'awaiting_start' | 'campaign_paused' | 'experiment' | 'schedule' | 'retry' | 'queued' | 'delivery_unsettled' | 'delivery_unknown' | null;
  createdAt: string;
  updatedAt: string;
};

export type Hold = {
  reason: 'schedule' | 'retry' | 'quiet_hours' | 'frequency_cap' | 'warm_up' | 'operator';
  until: string | null;
};

export type Email = {
  id: string;
  projectId: string;
  contactId: string;
  toName: string | null;
  toEmail: string;
  subject: string;
  from: string;
  fromName: string | null;
  /** The addresses of Reply-To, separated by commas */
  replyTo: string | null;
  headers: Array<{
    name: string;
    value: string;
  }>;
  attachments: Array<{
    filename: string;
    contentType: string;
    disposition: 'attachment' | 'inline';
    contentId: string | null;
    bytes: number;
  }>;
  /** The provider's id of the message */
  messageId: string | null;
  sourceType: 'TRANSACTIONAL' | 'CAMPAIGN' | 'WORKFLOW' | 'INBOUND';
  templateId: string | null;
  campaignId: string | null;
  /** Its arm in an experiment of the campaign */
  arm?: string;
  workflowExecutionId: string | null;
  workflowStepExecutionId: string | null;
  /** Who sent it, sent its campaign or caused its execution; null: not known */
  causedBy: Actor | null;
  topicId?: string;
  /** Its mail provider, if a route has chosen one */
  providerId?: string;
  /** The requested send time; null: at once */
  scheduledFor: string | null;
  /** Why it is PENDING and not due yet; the last reason, if there are several */
  hold: Hold | null;
  status: 'PENDING' | 'SENDING' | 'SENT' | 'DELIVERED' | 'OPENED' | 'CLICKED' | 'BOUNCED' | 'COMPLAINED' | 'FAILED' | 'RECEIVED';
  sentAt: string | null;
  deliveredAt: string | null;
  openedAt: string | null;
  clickedAt: string | null;
  /** The first open by a person */
  humanOpenedAt?: string;
  /** The first click by a person */
  humanClickedAt?: string;
  bouncedAt: string | null;
  complainedAt: string | null;
  opens: number;
  clicks: number;
  error: string | null;
  /** null: received */
  outcome: 'sent' | 'failed' | 'withheld' | 'held' | 'pending' | 'unknown' | null;
  /** Why it was not sent; null: it was sent or received */
  reasonCode: 'provider_refused' | 'recipient_refused' | 'provider_unavailable' | 'contact_unsubscribed' | 'topic_unsubscribed' | 'suppressed' | 'held_out' | 'frequency_cap' | 'late' | 'billing_limit' | 'domain_not_verified' | 'project_disabled' | 'campaign_cancelled' | 'execution_ended' | 'cancelled' | 'message_too_large' | 'no_provider' | 'contact_deleted' | 'restored' | 'quiet_hours' | 'warm_up' | 'operator' | 'awaiting_start' | 'campaign_paused' | 'experiment' | 'schedule' | 'retry' | 'queued' | 'delivery_unsettled' | 'delivery_unknown' | null;
  createdAt: string;
  updatedAt: string;
  /** null: the body is not rendered yet, or was deleted after its retention time. Or a worker stopped while it sent a campaign, before the body was recorded: then the trace has `settled`, and the subject is the campaign's template */
  body: string | null;
  /** Every state it had and why, oldest first */
  trace: Array<{
    at: string;
    state: 'queued' | 'rendered_plainly' | 'scheduled' | 'held' | 'throttled' | 'routed' | 'handed_over' | 'accepted' | 'refused' | 'uncertain' | 'settled' | 'delivered' | 'delayed' | 'opened' | 'clicked' | 'bounced' | 'complained' | 'withheld' | 'released' | 'retried';
    detail: Record<string, unknown> | null;
  }>;
  /** Opens and clicks, oldest first; the newest 200 */
  engagement: Array<{
    at: string;
    kind: 'open' | 'click';
    /** The target of the link */
    link: string | null;
    linkId: string | null;
    /** Who made it; null: not judged yet */
    verdict: 'human' | 'machine' | 'unknown' | null;
    /** The rule that gave the verdict */
    rule: 'head_request' | 'known_agent' | 'known_network' | 'prefetch_proxy' | 'too_fast' | 'all_links' | 'image_proxy' | 'no_agent' | null;
  }>;
};

export type UpdateEmailRequest = {
  scheduledFor: string | number | null;
};

export type DeliveryProvider = {
  id: string;
  name: string;
  /** down: it cannot take mail now; mail waits, and one at a time is tried */
  state: 'up' | 'down' | 'disabled';
  /** When the next mail is tried while it is down */
  nextTryAt: string | null;
  sending: number;
  unknown: number;
  last24Hours: {
    accepted: number;
    refused: number;
    delivered: number;
    bounced: number;
    complained: number;
  };
};

export type TimelineEntryList = {
  data: Array<TimelineEntry>;
  cursor?: string;
  hasMore: boolean;
  /** All matches, on the first page; 0 on later ones */
  total: number;
};

export type TimelineEntry = {
  at: string;
  type: 'event' | 'email' | 'execution' | 'not_started' | 'segment' | 'consent' | 'not_reached';
  title: string;
  detail: Record<string, unknown>;
  /** Ids of the objects that the item is about */
  links: {
    email?: string;
    execution?: string;
    campaign?: string;
    workflow?: string;
  };
};

export type EraseContactRequest = {
  /** true: the suppression list keeps a hash of the address */
  suppress?: boolean;
};

export type ErasureAccepted = {
  message: string;
  jobId: string;
};

export type ErasureCounts = {
  /** The contact */
  contact: number;
  /** Its events that are stored as rows */
  events: number;
  /** Its mail, received mail among it */
  emails: number;
  /** Its executions, with their steps */
  executions: number;
  /** Its memberships in segments */
  memberships: number;
  /** Its choices of topics */
  topics: number;
  /** Lines of its consent log */
  consent: number;
  /** Files that no other mail uses */
  attachments: number;
  /** Messages of the local mailbox */
  mailbox: number;
  /** Mail of other contacts to the address, with content removed */
  otherEmails: number;
  /** Jobs with the address in their result */
  jobErrors: number;
  /** Stored responses with the address */
  idempotency: number;
  /** Deliveries of event subscriptions, and receivers' responses with the address */
  deliveries: number;
  /** Entries of the suppression list that have changed */
  suppression: number;
};

export type Erasure = {
  id: string;
  state: 'waiting' | 'active' | 'completed';
  requestedAt: string;
  /** When the erasure was completed; null: not yet */
  at: string | null;
  /** Counts of removed data; null until completed */
  counts: ErasureCounts | null;
  /** SHA-256 of the JSON text {"id","requestedAt","at","counts"} without white space, in hex */
  receiptHash: string | null;
};

export type ContactExport = {
  exportedAt: string;
  contact: Contact;
  topics: Array<ContactTopic>;
  suppression: Suppression | null;
  segments: Array<{
    id: string;
    name: string;
  }>;
  consent: Array<ConsentLine>;
  events: Array<Event>;
  emails: Array<{
    id: string;
    projectId: string;
    contactId: string;
    toName: string | null;
    toEmail: string;
    subject: string;
    from: string;
    fromName: string | null;
    /** The addresses of Reply-To, separated by commas */
    replyTo: string | null;
    headers: Array<{
      name: string;
      value: string;
    }>;
    attachments: Array<{
      filename: string;
      contentType: string;
      size: number;
    }>;
    /** The provider's id of the message */
    messageId: string | null;
    sourceType: 'TRANSACTIONAL' | 'CAMPAIGN' | 'WORKFLOW' | 'INBOUND';
    templateId: string | null;
    campaignId: string | null;
    /** Its arm in an experiment of the campaign */
    arm?: string;
    workflowExecutionId: string | null;
    workflowStepExecutionId: string | null;
    /** Who sent it, sent its campaign or caused its execution; null: not known */
    causedBy: Actor | null;
    topicId?: string;
    /** Its mail provider, if a route has chosen one */
    providerId?: string;
    /** The requested send time; null: at once */
    scheduledFor: string | null;
    /** Why it is PENDING and not due yet; the last reason, if there are several */
    hold: Hold | null;
    status: 'PENDING' | 'SENDING' | 'SENT' | 'DELIVERED' | 'OPENED' | 'CLICKED' | 'BOUNCED' | 'COMPLAINED' | 'FAILED' | 'RECEIVED';
    sentAt: string | null;
    deliveredAt: string | null;
    openedAt: string | null;
    clickedAt: string | null;
    /** The first open by a person */
    humanOpenedAt?: string;
    /** The first click by a person */
    humanClickedAt?: string;
    bouncedAt: string | null;
    complainedAt: string | null;
    opens: number;
    clicks: number;
    error: string | null;
    /** null: received */
    outcome: 'sent' | 'failed' | 'withheld' | 'held' | 'pending' | 'unknown' | null;
    /** Why it was not sent; null: it was sent or received */
    reasonCode: 'provider_refused' | 'recipient_refused' | 'provider_unavailable' | 'contact_unsubscribed' | 'topic_unsubscribed' | 'suppressed' | 'held_out' | 'frequency_cap' | 'late' | 'billing_limit' | 'domain_not_verified' | 'project_disabled' | 'campaign_cancelled' | 'execution_ended' | 'cancelled' | 'message_too_large' | 'no_provider' | 'contact_deleted' | 'restored' | 'quiet_hours' | 'warm_up' | 'operator' | 'awaiting_start' | 'campaign_paused' | 'experiment' | 'schedule' | 'retry' | 'queued' | 'delivery_unsettled' | 'delivery_unknown' | null;
    createdAt: string;
    updatedAt: string;
    /** null: the body is not rendered yet, or was deleted after its retention time. Or a worker stopped while it sent a campaign, before the body was recorded: then the trace has `settled`, and the subject is the campaign's template */
    body: string | null;
    /** Every state it had and why, oldest first */
    trace: Array<{
      at: string;
      state: 'queued' | 'rendered_plainly' | 'scheduled' | 'held' | 'throttled' | 'routed' | 'handed_over' | 'accepted' | 'refused' | 'uncertain' | 'settled' | 'delivered' | 'delayed' | 'opened' | 'clicked' | 'bounced' | 'complained' | 'withheld' | 'released' | 'retried';
      detail: Record<string, unknown> | null;
    }>;
    /** Opens and clicks, oldest first; the newest 200 */
    engagement: Array<{
      at: string;
      kind: 'open' | 'click';
      /** The target of the link */
      link: string | null;
      linkId: string | null;
      /** Who made it; null: not judged yet */
      verdict: 'human' | 'machine' | 'unknown' | null;
      /** The rule that gave the verdict */
      rule: 'head_request' | 'known_agent' | 'known_network' | 'prefetch_proxy' | 'too_fast' | 'all_links' | 'image_proxy' | 'no_agent' | null;
    }>;
  }>;
  executions: Array<{
    id: string;
    workflowId: string;
    workflowVersion: number;
    contactId: string;
    /** Distinguishes the execution from others of the contact; null: it has no key */
    key: string | null;
    status: 'RUNNING' | 'WAITING' | 'COMPLETED' | 'EXITED' | 'FAILED' | 'CANCELLED';
    currentStepId: string | null;
    exitReason: string | null;
    error: string | null;
    context: Record<string, unknown> | null;
    /** Steps that completed with `success: false` */
    warnings: number;
    /** Why it is stuck, for example: no worker or no sweep runs, Temporal refuses to start it, or its step is retried again and again */
    stuck: Stuck | null;
    /** Who recorded the event that started it, or started it by hand; null: not known */
    causedBy: Actor | null;
    startedAt: string;
    completedAt: string | null;
    /** Paused individually; its workflow may be paused, too */
    pausedAt: string | null;
    pauseReason: string | null;
    temporalWorkflowId: string;
    temporalRunId: string | null;
    projectId: string;
    createdAt: string;
    updatedAt: string;
    stepExecutions: Array<StepExecution>;
  }>;
};

export type ContactTopic = {
  id: string;
  key: string;
  name: string;
  /** private: on no preference page, and hidden from public keys */
  visibility: 'public' | 'private';
  /** true: the contact gets mail of the topic, if it gets marketing mail */
  subscribed: boolean;
  /** false: the contact has made no choice, so the default applies */
  explicit: boolean;
  /** Time of the contact's own choice */
  changedAt: string | null;
};

export type Suppression = {
  /** null in lists while only a hash of it is kept */
  email: string | null;
  /** true: only a hash of the address is kept */
  hashed: boolean;
  reason: 'hard_bounce' | 'complaint' | 'manual' | 'import' | 'erased' | 'opt_out';
  /** `marketing`: no mail of class MARKETING; `all`: no mail except tests of campaigns */
  scope: 'marketing' | 'all';
  /** The mail whose feedback or link made the entry */
  emailId: string | null;
  /** When the entry ends; null: it does not end */
  until: string | null;
  createdAt: string;
};

export type ConsentLine = {
  at: string;
  action: 'requested' | 'confirmed' | 'expired' | 'granted' | 'imported' | 'withdrawn' | 'address_changed';
  source: 'api' | 'import' | 'bulk' | 'public_page' | 'one_click' | 'workflow' | 'inbound' | 'bounce' | 'complaint' | 'provider' | 'double_opt_in';
  /** Key of a topic; null: mail as a whole */
  topic: string | null;
  /** IP address of the person, if known */
  ip: string | null;
  userAgent: string | null;
  /** SHA-256 of `text` in UTF-8, in hex */
  textHash: string | null;
  /** Text that the person has read */
  text: string | null;
  /** pk, sk, or the id of the named key or user; null: another source */
  actor: string | null;
};

export type Event = {
  id: string;
  name: string;
  data: Record<string, unknown> | null;
  projectId: string;
  contactId: string | null;
  emailId: string | null;
  createdAt: string;
};

export type Stuck = {
  since: string;
  reason: string;
};

export type StepExecution = {
  id: string;
  executionId: string;
  stepId: string;
  status: 'PENDING' | 'SCHEDULED' | 'RUNNING' | 'WAITING' | 'COMPLETED' | 'FAILED' | 'SKIPPED';
  scheduledFor: string | null;
  executeAfter: string | null;
  /** Its result. For a WEBHOOK that is retried: that of the last attempt, with `nextAttemptAt` */
  output: Record<string, unknown> | null;
  error: string | null;
  startedAt: string | null;
  completedAt: string | null;
  createdAt: string;
  updatedAt: string;
  step: StepName;
};

export type StepName = {
  id: string;
  name: string;
  type: 'TRIGGER' | 'SEND_EMAIL' | 'DELAY' | 'WAIT_FOR_EVENT' | 'DIGEST' | 'CONDITION' | 'SPLIT' | 'WEBHOOK' | 'UPDATE_CONTACT' | 'EXIT';
};

export type UpdateContactTopicsRequest = {
  /** Choices by the keys of topics; null: back to the default */
  topics: Record<string, boolean | null>;
};

export type Topic = {
  id: string;
  key: string;
  name: string;
  description: string | null;
  /** private: on no preference page, and hidden from public keys */
  visibility: 'public' | 'private';
  /** The default for contacts that have made no choice */
  default: 'subscribed' | 'unsubscribed';
  projectId: string;
  createdAt: string;
  updatedAt: string;
};

export type CreateTopicRequest = {
  /** Lower-case letters, digits, _ and -, at most 50 */
  key: string;
  name: string;
  description?: string | null;
  /** private: on no preference page, and hidden from public keys */
  visibility?: 'public' | 'private';
  /** The default for contacts that have made no choice */
  default: 'subscribed' | 'unsubscribed';
};

export type UpdateTopicRequest = {
  key?: string;
  name?: string;
  description?: string | null;
  /** private: on no preference page, and hidden from public keys */
  visibility?: 'public' | 'private';
  /** The default for contacts that have made no choice */
  default?: 'subscribed' | 'unsubscribed';
};

export type QueryContactsRequest = {
  /** As in segments */
  condition?: ConditionInput | null;
  /** Instead of condition */
  filters?: ConditionInput | null;
  /** Part of the address, in any case; % and _ are plain characters */
  search?: string;
  subscribed?: boolean;
  limit?: number;
  /** The `cursor` of the previous page */
  cursor?: string;
  sort?: 'createdAt' | 'email';
  /** By default asc for email, desc otherwise */
  dir?: 'asc' | 'desc';
};

export type ExportContactsRequest = {
  /** As in segments */
  condition?: ConditionInput | null;
  /** Instead of condition */
  filters?: ConditionInput | null;
  /** Part of the address, in any case; % and _ are plain characters */
  search?: string;
  subscribed?: boolean;
  /** Fields of contacts, such as `email` or `data.plan` */
  columns?: Array<string>;
};

export type LookUpContactsRequest = {
  emails: Array<string>;
};

export type SegmentOfContact = {
  id: string;
  name: string;
  type: 'DYNAMIC' | 'STATIC';
};

export type ContactField = {
  field: string;
  type: 'string' | 'number' | 'boolean' | 'date';
  /** How many percent of all contacts have the field */
  coverage: number;
};

export type ImportContactsRequest = {
  file: string;
};

export type JobAccepted = {
  message: string;
  jobId: string;
};

export type BulkSubscribeContactsRequest = {
  mode?: 'ids' | 'query';
  /** Required with mode ids; ignored with mode query */
  contactIds?: Array<string>;
  /** Required with mode query, where {} means every contact; ignored with mode ids */
  filter?: {
    search?: string;
    subscribed?: boolean;
    /** As in segments */
    condition?: ConditionInput;
  };
  /** Contacts to leave out with mode query; ignored with mode ids */
  excludeIds?: Array<string>;
};

export type BulkUnsubscribeContactsRequest = {
  mode?: 'ids' | 'query';
  /** Required with mode ids; ignored with mode query */
  contactIds?: Array<string>;
  /** Required with mode query, where {} means every contact; ignored with mode ids */
  filter?: {
    search?: string;
    subscribed?: boolean;
    /** As in segments */
    condition?: ConditionInput;
  };
  /** Contacts to leave out with mode query; ignored with mode ids */
  excludeIds?: Array<string>;
};

export type BulkDeleteContactsRequest = {
  mode?: 'ids' | 'query';
  /** Required with mode ids; ignored with mode query */
  contactIds?: Array<string>;
  /** Required with mode query, where {} means every contact; ignored with mode ids */
  filter?: {
    search?: string;
    subscribed?: boolean;
    /** As in segments */
    condition?: ConditionInput;
  };
  /** Contacts to leave out with mode query; ignored with mode ids */
  excludeIds?: Array<string>;
};

export type ImportJobResult = {
  totalRows: number;
  successCount: number;
  createdCount: number;
  updatedCount: number;
  failureCount: number;
  errors: Array<{
    row: number;
    email: string;
    error: string;
  }>;
};

export type ImportJob = {
  id: string;
  state: 'waiting' | 'active' | 'completed' | 'failed' | 'cancelled';
  progress: number;
  data: {
    projectId: string;
    filename: string;
    totalRows: number | null;
  };
  result: ImportJobResult | null;
  failedReason: string | null;
  /** Who began it */
  causedBy: Actor | null;
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
};

export type ImportJobList = {
  data: Array<ImportJob>;
  cursor?: string;
  hasMore: boolean;
  /** All matches, on the first page; 0 on later ones */
  total: number;
};

export type BulkJobResult = {
  operation: 'subscribe' | 'unsubscribe' | 'delete';
  totalRequested: number;
  successCount: number;
  unchanged: number;
  failureCount: number;
  errors: Array<{
    contactId: string;
    email: string | null;
    error: string;
  }>;
};

export type BulkJob = {
  id: string;
  state: 'waiting' | 'active' | 'completed' | 'failed' | 'cancelled';
  progress: number;
  data: {
    projectId: string;
    operation: 'subscribe' | 'unsubscribe' | 'delete';
    mode: 'ids' | 'query';
    totalRequested: number | null;
  };
  result: BulkJobResult | null;
  failedReason: string | null;
  /** Who began it */
  causedBy: Actor | null;
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
};

export type Subscription = {
  id: string;
  email: string;
  subscribed: boolean;
};

export type NamedEventRequest = {
  name: string;
  contactId?: string;
  emailId?: string;
  data?: Record<string, unknown> | null;
};

export type TrackEventRequest = TrackRequest | NamedEventRequest;

export type TrackAnswer = {
  success: true;
  data: TrackedEvent;
};

export type ListEventsEventsItemContact = {
  email: string;
};

export type EventSubscription = {
  id: string;
  url: string;
  events: Array<string>;
  description: string | null;
  /** Their values are never returned */
  headerNames: Array<string>;
  /** Maximum number of events per request; null: one */
  batch: EventBatch | null;
  enabled: boolean;
  disabledReason: 'requested' | 'gone' | 'failing' | null;
  paused: boolean;
  /** From this time on, a delivery is created for every matching event; null while disabled */
  from: string | null;
  /** Start of the first failed request since the last success */
  failingSince: string | null;
  /** Until when the previous secret also signs */
  previousSecretExpiresAt: string | null;
  /** Who created it */
  createdBy: Actor | null;
  projectId: string;
  createdAt: string;
  updatedAt: string;
};

export type EventBatch = {
  max: number;
};

export type EventBatchInput = {
  max: number;
};

export type CreateEventSubscriptionRequest = {
  url: string;
  /** Names of events, `<prefix>.*` for all with this prefix, or `*` for all */
  events: Array<string>;
  description?: string | null;
  /** Sent with every request, and never returned; `{{secret.NAME}}` is replaced in values */
  headers?: Record<string, string> | null;
  /** Maximum number of events per request; null: one event per request, without a list */
  batch?: EventBatchInput | null;
  enabled?: boolean;
  /** Default: now; at most 30 days ago */
  from?: string;
};

export type NewEventSubscription = {
  id: string;
  url: string;
  events: Array<string>;
  description: string | null;
  /** Their values are never returned */
  headerNames: Array<string>;
  /** Maximum number of events per request; null: one */
  batch: EventBatch | null;
  enabled: boolean;
  disabledReason: 'requested' | 'gone' | 'failing' | null;
  paused: boolean;
  /** From this time on, a delivery is created for every matching event; null while disabled */
  from: string | null;
  /** Start of the first failed request since the last success */
  failingSince: string | null;
  /** Until when the previous secret also signs */
  previousSecretExpiresAt: string | null;
  /** Who created it */
  createdBy: Actor | null;
  projectId: string;
  createdAt: string;
  updatedAt: string;
  secret: string;
};

export type CountedEventSubscription = {
  id: string;
  url: string;
  events: Array<string>;
  description: string | null;
  /** Their values are never returned */
  headerNames: Array<string>;
  /** Maximum number of events per request; null: one */
  batch: EventBatch | null;
  enabled: boolean;
  disabledReason: 'requested' | 'gone' | 'failing' | null;
  paused: boolean;
  /** From this time on, a delivery is created for every matching event; null while disabled */
  from: string | null;
  /** Start of the first failed request since the last success */
  failingSince: string | null;
  /** Until when the previous secret also signs */
  previousSecretExpiresAt: string | null;
  /** Who created it */
  createdBy: Actor | null;
  projectId: string;
  createdAt: string;
  updatedAt: string;
  lag: {
    pending: number;
    /** Since when the oldest pending one waits */
    oldestPendingAt: string | null;
  };
  last24Hours: {
    requests: number;
    delivered: number;
    failed: number;
    skipped: number;
  };
};

export type UpdateEventSubscriptionRequest = {
  url?: string;
  /** Names of events, `<prefix>.*` for all with this prefix, or `*` for all */
  events?: Array<string>;
  description?: string | null;
  /** Sent with every request, and never returned; `{{secret.NAME}}` is replaced in values */
  headers?: Record<string, string> | null;
  /** Maximum number of events per request; null: one event per request, without a list */
  batch?: EventBatchInput | null;
  enabled?: boolean;
  paused?: boolean;
};

export type EventDeliveryList = {
  data: Array<EventDelivery>;
  cursor?: string;
  hasMore: boolean;
};

export type EventDelivery = {
  /** `<eventId>_<subscriptionId>`, the `webhook-id` of its requests */
  id: string;
  subscriptionId: string;
  eventId: string;
  eventName: string;
  contactId: string | null;
  status: 'pending' | 'delivered' | 'failed' | 'skipped';
  /** Why it was skipped */
  reason: 'disabled' | 'contact_deleted' | 'event_deleted' | 'expired' | null;
  /** The `webhook-id` of the last batch with this event; null: it was in no batch */
  batchId: string | null;
  /** Due time while it is pending */
  nextAttemptAt: string | null;
  deliveredAt: string | null;
  /** The last 20, oldest first */
  attempts: Array<{
    at: string;
    statusCode: number | null;
    /** Why there was no response */
    error: 'timeout' | 'unreachable' | 'address_refused' | 'secret_refused' | null;
    ms: number;
  }>;
  /** The first 1,024 bytes of the last response that was not 2xx */
  response: string | null;
  projectId: string;
  createdAt: string;
  updatedAt: string;
};

export type TestEventSubscriptionRequest = {
  eventName?: string;
};

export type ReplayEventsRequest = {
  from: string;
  /** By default now */
  to?: string;
  eventName?: string | null;
  onlyFailed?: boolean;
};

export type EventReplayResult = {
  replayed: number;
};

export type EventReplay = {
  id: string;
  state: 'waiting' | 'active' | 'completed' | 'failed' | 'cancelled';
  progress: number;
  data: {
    projectId: string;
    subscriptionId: string;
    from: string;
    to: string;
    eventName: string | null;
    onlyFailed: boolean;
  };
  result: EventReplayResult | null;
  failedReason: string | null;
  /** Who began it */
  causedBy: Actor | null;
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
};

export type ActivityItem = {
  id: string;
  type: 'event.triggered' | 'contact.subscribed' | 'contact.unsubscribed' | 'email.sent' | 'email.delivered' | 'email.opened' | 'email.clicked' | 'email.bounced' | 'email.complaint' | 'email.received' | 'campaign.sent' | 'campaign.scheduled' | 'workflow.started' | 'workflow.completed' | 'workflow.email.scheduled' | 'workflow.waiting';
  timestamp: string;
  contactEmail?: string;
  contactId?: string;
  metadata: Record<string, unknown>;
};

export type StartExecutionRequest = {
  contactId: string;
  context?: Record<string, unknown>;
  /** By default it is read from the context at the path of `executionKey` */
  key?: string | number | boolean;
};

export type Execution = {
  id: string;
  workflowId: string;
  workflowVersion: number;
  contactId: string;
  /** Distinguishes the execution from others of the contact; null: it has no key */
  key: string | null;
  status: 'RUNNING' | 'WAITING' | 'COMPLETED' | 'EXITED' | 'FAILED' | 'CANCELLED';
  currentStepId: string | null;
  exitReason: string | null;
  error: string | null;
  context: Record<string, unknown> | null;
  /** Steps that completed with `success: false` */
  warnings: number;
  /** Why it is stuck, for example: no worker or no sweep runs, Temporal refuses to start it, or its step is retried again and again */
  stuck: Stuck | null;
  /** Who recorded the event that started it, or started it by hand; null: not known */
  causedBy: Actor | null;
  startedAt: string;
  completedAt: string | null;
  /** Paused individually; its workflow may be paused, too */
  pausedAt: string | null;
  pauseReason: string | null;
  temporalWorkflowId: string;
  temporalRunId: string | null;
  projectId: string;
  createdAt: string;
  updatedAt: string;
};

export type NamedExecutionPage = {
  executions: Array<NamedExecution>;
  total: number;
  page: number;
  pageSize: number;
  totalPages: number;
};

export type NamedExecution = {
  id: string;
  workflowId: string;
  workflowVersion: number;
  contactId: string;
  /** Distinguishes the execution from others of the contact; null: it has no key */
  key: string | null;
  status: 'RUNNING' | 'WAITING' | 'COMPLETED' | 'EXITED' | 'FAILED' | 'CANCELLED';
  currentStepId: string | null;
  exitReason: string | null;
  error: string | null;
  context: Record<string, unknown> | null;
  /** Steps that completed with `success: false` */
  warnings: number;
  /** Why it is stuck, for example: no worker or no sweep runs, Temporal refuses to start it, or its step is retried again and again */
  stuck: Stuck | null;
  /** Who recorded the event that started it, or started it by hand; null: not known */
  causedBy: Actor | null;
  startedAt: string;
  completedAt: string | null;
  /** Paused individually; its workflow may be paused, too */
  pausedAt: string | null;
  pauseReason: string | null;
  temporalWorkflowId: string;
  temporalRunId: string | null;
  projectId: string;
  createdAt: string;
  updatedAt: string;
  contact: ContactName;
  currentStep: StepName | null;
};

export type ContactName = {
  id: string;
  email: string;
};

export type ExecutionDetails = {
  id: string;
  workflowId: string;
  workflowVersion: number;
  contactId: string;
  /** Distinguishes the execution from others of the contact; null: it has no key */
  key: string | null;
  status: 'RUNNING' | 'WAITING' | 'COMPLETED' | 'EXITED' | 'FAILED' | 'CANCELLED';
  currentStepId: string | null;
  exitReason: string | null;
  error: string | null;
  context: Record<string, unknown> | null;
  /** Steps that completed with `success: false` */
  warnings: number;
  /** Why it is stuck, for example: no worker or no sweep runs, Temporal refuses to start it, or its step is retried again and again */
  stuck: Stuck | null;
  /** Who recorded the event that started it, or started it by hand; null: not known */
  causedBy: Actor | null;
  startedAt: string;
  completedAt: string | null;
  /** Paused individually; its workflow may be paused, too */
  pausedAt: string | null;
  pauseReason: string | null;
  temporalWorkflowId: string;
  temporalRunId: string | null;
  projectId: string;
  createdAt: string;
  updatedAt: string;
  contact: ContactName;
  currentStep: StepName | null;
  workflow: {
    id: string;
    name: string;
    pausedAt: string | null;
  };
  stepExecutions: Array<StepExecution>;
};

export type CancelAllExecutionsRequest = {};

export type RetryExecutionRequest = {
  version?: number;
};

export type FoundExecutionList = {
  data: Array<FoundExecution>;
  cursor?: string;
  hasMore: boolean;
  /** All matches, on the first page; 0 on later ones */
  total: number;
};

export type FoundExecution = {
  id: string;
  workflowId: string;
  workflowVersion: number;
  contactId: string;
  /** Distinguishes the execution from others of the contact; null: it has no key */
  key: string | null;
  status: 'RUNNING' | 'WAITING' | 'COMPLETED' | 'EXITED' | 'FAILED' | 'CANCELLED';
  currentStepId: string | null;
  exitReason: string | null;
  error: string | null;
  context: Record<string, unknown> | null;
  /** Steps that completed with `success: false` */
  warnings: number;
  /** Why it is stuck, for example: no worker or no sweep runs, Temporal refuses to start it, or its step is retried again and again */
  stuck: Stuck | null;
  /** Who recorded the event that started it, or started it by hand; null: not known */
  causedBy: Actor | null;
  startedAt: string;
  completedAt: string | null;
  /** Paused individually; its workflow may be paused, too */
  pausedAt: string | null;
  pauseReason: string | null;
  temporalWorkflowId: string;
  temporalRunId: string | null;
  projectId: string;
  createdAt: string;
  updatedAt: string;
  workflow: {
    id: string;
    name: string;
  };
  contact: ContactName;
  currentStep: StepName | null;
  /** The step at which a FAILED execution failed */
  failedStep: StepName | null;
};

export type ExecutionGroup = {
  kind: 'failed' | 'stuck' | 'warning';
  workflow: {
    id: string;
    name: string;
  };
  step: StepName | null;
  /** Why they failed or are stuck; null for warnings */
  error: string | null;
  count: number;
  /** When the first of them failed, got stuck, or ended with a warning */
  firstAt: string;
  lastAt: string;
};

export type ExecutionJob = {
  id: string;
  state: 'waiting' | 'active' | 'completed' | 'failed' | 'cancelled';
  progress: number;
  data: {
    projectId: string;
    workflowId: string;
    operation: 'migrate' | 'move-waits' | 'retry-all';
    stepId: string | null;
    totalRequested: number | null;
  };
  result: MigrationResult | MoveResult | RetryResult | null;
  failedReason: string | null;
  /** Who began it */
  causedBy: Actor | null;
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
};

export type MigrationResult = {
  migrated: number;
  unchanged: number;
  unmappable: number;
  cancelled: number;
  finished: number;
};

export type MoveResult = {
  moved: number;
  skipped: number;
};

export type RetryResult = {
  retried: number;
  refused: number;
};

export type MigrateExecutionsRequest = {
  /** Versions; by default all with active executions */
  from?: Array<number>;
  /** A version; by default the newest */
  to?: number;
  /** Steps of the target version by those of the old versions, if their ids differ */
  mapping?: Record<string, string>;
  onUnmappable?: 'stay' | 'cancel';
  /** Only these executions; unknown ones are ignored */
  executionIds?: Array<string>;
};

export type RetryAllExecutionsRequest = {
  stepId?: string;
  /** The version on which they continue; by default their own */
  version?: number;
  failedAfter?: string;
  failedBefore?: string;
  errorContains?: string;
  /** The whole error, as GET /executions/groups shows it */
  errorEquals?: string;
};

export type MoveWaitsRequest = {
  until?: string;
  shiftBySeconds?: number;
  /** WAIT_FOR_EVENT only: remove the timeout */
  forever?: true;
  versions?: Array<number>;
  /** Only executions whose contact meets this condition */
  filter?: ConditionInput;
};

export type PauseExecutionRequest = {
  reason?: string;
};

export type SkipStepRequest = {
  branch?: string;
};

export type MoveWaitRequest = {
  until?: string;
  shiftBySeconds?: number;
  /** WAIT_FOR_EVENT only: remove the timeout */
  forever?: true;
};

export type MovedExecution = {
  id: string;
  workflowId: string;
  workflowVersion: number;
  contactId: string;
  /** Distinguishes the execution from others of the contact; null: it has no key */
  key: string | null;
  status: 'RUNNING' | 'WAITING' | 'COMPLETED' | 'EXITED' | 'FAILED' | 'CANCELLED';
  currentStepId: string | null;
  exitReason: string | null;
  error: string | null;
  context: Record<string, unknown> | null;
  /** Steps that completed with `success: false` */
  warnings: number;
  /** Why it is stuck, for example: no worker or no sweep runs, Temporal refuses to start it, or its step is retried again and again */
  stuck: Stuck | null;
  /** Who recorded the event that started it, or started it by hand; null: not known */
  causedBy: Actor | null;
  startedAt: string;
  completedAt: string | null;
  /** Paused individually; its workflow may be paused, too */
  pausedAt: string | null;
  pauseReason: string | null;
  temporalWorkflowId: string;
  temporalRunId: string | null;
  projectId: string;
  createdAt: string;
  updatedAt: string;
  stepExecutions: Array<StepExecution>;
};

export type CheckWorkflowRequest = {
  /** As returned by GET /workflows/{id}/graph */
  graph: Record<string, unknown>;
};

export type WorkflowWarning = {
  code: 'unreachable_step' | 'timeout_never' | 'unconnected_branch' | 'early_event' | 'unknown_field' | 'not_by_key' | 'key_never_seen';
  message: string;
  /** The id of the step, or its key if the graph in the request names its steps by keys */
  step: string;
};

export type ProposedTriggerStep = {
  id: string;
  name: string;
  templateId?: string | null;
  type: 'TRIGGER';
  config: TriggerConfig;
};

export type TriggerConfig = {
  eventName?: string;
};

export type ProposedSendEmailStep = {
  id: string;
  name: string;
  templateId?: string | null;
  type: 'SEND_EMAIL';
  config: SendEmailConfig;
};

export type SendEmailConfig = {
  recipient?: {
    type?: 'CONTACT' | 'CUSTOM';
    customEmail?: string;
  };
  templateId?: string | null;
  topicId?: string | null;
};

export type ProposedDelayStep = {
  id: string;
  name: string;
  templateId?: string | null;
  type: 'DELAY';
  config: DelayConfig;
};

export type DelayConfig = {
  amount?: number;
  unit?: 'minutes' | 'hours' | 'days';
  until?: {
    time: string;
    days?: Array<'mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun'>;
    timeZone?: string;
  };
  untilField?: string;
  offset?: {
    amount: number;
    unit: 'minutes' | 'hours' | 'days';
  };
  ifPast?: 'continue' | 'exit';
};

export type ProposedWaitForEventStep = {
  id: string;
  name: string;
  templateId?: string | null;
  type: 'WAIT_FOR_EVENT';
  config: WaitForEventConfig;
};

export type WaitForEventConfig = {
  eventName: string;
  timeout?: number;
  /** Conditions that the event must meet; all must hold */
  where?: Array<{
    field: string;
    operator: 'equals' | 'notEquals' | 'contains' | 'notContains' | 'greaterThan' | 'lessThan' | 'greaterThanOrEqual' | 'lessThanOrEqual' | 'exists' | 'notExists';
    value?: unknown;
    /** Compares with this field, in place of value: event., context. or contact. */
    valueOf?: unknown;
  }>;
  /** From when events count: from the beginning of the step (default) or of the execution */
  since?: 'step' | 'execution';
};

export type ProposedDigestStep = {
  id: string;
  name: string;
  templateId?: string | null;
  type: 'DIGEST';
  config: DigestConfig;
};

export type DigestConfig = {
  eventName: string;
  /** Conditions that the event must meet; all must hold */
  where?: Array<{
    field: string;
    operator: 'equals' | 'notEquals' | 'contains' | 'notContains' | 'greaterThan' | 'lessThan' | 'greaterThanOrEqual' | 'lessThanOrEqual' | 'exists' | 'notExists';
    value?: unknown;
    /** Compares with this field, in place of value: event., context. or contact. */
    valueOf?: unknown;
  }>;
  /** It closes this long after the step began */
  for?: {
    amount: number;
    unit: 'minutes' | 'hours' | 'days';
  };
  /** It closes at this time of day. Send either this or `for` */
  until?: {
    time: string;
    days?: Array<'mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun'>;
    timeZone?: string;
  };
  /** It closes before its end, as soon as it has this number of events */
  max?: number;
  /** From when events count: from the beginning of the execution (default) or of the step */
  since?: 'execution' | 'step';
  /** If no digest of this step has closed for the contact and key within the time of `for`, it closes at once, with the first event */
  immediateFirst?: boolean;
};

export type ProposedConditionStep = {
  id: string;
  name: string;
  templateId?: string | null;
  type: 'CONDITION';
  config: ConditionConfig;
};

export type ConditionConfigBinary = {
  mode?: 'binary';
  field: string;
  operator: 'equals' | 'notEquals' | 'contains' | 'notContains' | 'greaterThan' | 'lessThan' | 'greaterThanOrEqual' | 'lessThanOrEqual' | 'exists' | 'notExists';
  value?: unknown;
  /** Compares with this field, in place of value: event., context. or contact. */
  valueOf?: unknown;
};

export type ConditionConfigMulti = {
  mode: 'multi';
  field: string;
  branches: Array<{
    id: string;
    name: string;
    operator: 'equals' | 'notEquals' | 'contains' | 'notContains' | 'greaterThan' | 'lessThan' | 'greaterThanOrEqual' | 'lessThanOrEqual' | 'exists' | 'notExists';
    value?: unknown;
    /** Compares with this field, in place of value: event., context. or contact. */
    valueOf?: unknown;
  }>;
};

export type ConditionConfigFilter = {
  mode: 'filter';
  branches: Array<{
    id: string;
    name: string;
    filter: BranchFilter;
  }>;
};

export type ConditionConfig = ConditionConfigBinary | ConditionConfigMulti | ConditionConfigFilter;

export type BranchCondition = {
  logic: 'AND' | 'OR';
  groups: Array<{
    filters?: Array<{
      field: string;
      operator: 'equals' | 'notEquals' | 'contains' | 'notContains' | 'greaterThan' | 'lessThan' | 'greaterThanOrEqual' | 'lessThanOrEqual' | 'exists' | 'notExists' | 'within' | 'olderThan' | 'triggered' | 'notTriggered' | 'triggeredWithin' | 'triggeredOlderThan' | 'notTriggeredWithin' | 'memberOfSegment' | 'notMemberOfSegment';
      value?: unknown;
      unit?: 'minutes' | 'hours' | 'days';
      /** Compares with this field, in place of value: event., context. or contact. */
      valueOf?: unknown;
    }>;
    /** A condition inside this group */
    conditions?: Record<string, unknown> | null;
  }>;
};

export type FlatBranchCondition = {
  operator: 'AND' | 'OR';
  conditions: Array<{
    field: string;
    operator: 'equals' | 'notEquals' | 'contains' | 'notContains' | 'greaterThan' | 'lessThan' | 'greaterThanOrEqual' | 'lessThanOrEqual' | 'exists' | 'notExists' | 'within' | 'olderThan' | 'triggered' | 'notTriggered' | 'triggeredWithin' | 'triggeredOlderThan' | 'notTriggeredWithin' | 'memberOfSegment' | 'notMemberOfSegment';
    value?: unknown;
    unit?: 'minutes' | 'hours' | 'days';
    /** Compares with this field, in place of value: event., context. or contact. */
    valueOf?: unknown;
  }>;
};

export type BranchFilter = BranchCondition | FlatBranchCondition;

export type ProposedSplitStep = {
  id: string;
  name: string;
  templateId?: string | null;
  type: 'SPLIT';
  config: SplitConfig;
};

export type SplitConfig = {
  arms: Array<{
    id: string;
    name: string;
    weight: number;
  }>;
  by?: 'contact' | 'key';
  salt?: string;
};

export type ProposedWebhookStep = {
  id: string;
  name: string;
  templateId?: string | null;
  type: 'WEBHOOK';
  config: WebhookConfig;
};

export type WebhookConfig = {
  url: string;
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  headers?: Record<string, string>;
  body?: unknown;
  onFailure?: 'continue' | 'fail';
};

export type ProposedUpdateContactStep = {
  id: string;
  name: string;
  templateId?: string | null;
  type: 'UPDATE_CONTACT';
  config: UpdateContactConfig;
};

export type UpdateContactConfig = {
  updates?: Record<string, unknown>;
  subscriptionAction?: 'none' | 'subscribe' | 'unsubscribe';
};

export type ProposedExitStep = {
  id: string;
  name: string;
  templateId?: string | null;
  type: 'EXIT';
  config: ExitConfig;
};

export type ExitConfig = {
  reason?: string;
};

export type ProposedGraph = {
  steps: Array<ProposedTriggerStep | ProposedSendEmailStep | ProposedDelayStep | ProposedWaitForEventStep | ProposedDigestStep | ProposedConditionStep | ProposedSplitStep | ProposedWebhookStep | ProposedUpdateContactStep | ProposedExitStep>;
  transitions: Array<{
    fromStepId: string;
    toStepId: string;
    /** `{branch}`; `{fallback: true}` after WAIT_FOR_EVENT is its time-out */
    condition?: TransitionConditionInput | null;
    /** The same as condition.branch */
    branch?: string | null;
    waitOutcome?: 'EVENT' | 'TIMEOUT' | null;
    priority?: number;
  }>;
  exitRules?: Array<{
    eventName: string;
    where?: Array<{
      field: string;
      operator: 'equals' | 'notEquals' | 'contains' | 'notContains' | 'greaterThan' | 'lessThan' | 'greaterThanOrEqual' | 'lessThanOrEqual' | 'exists' | 'notExists';
      value?: unknown;
      /** Compares with this field, in place of value: event., context. or contact. */
      valueOf?: unknown;
    }>;
    reason: string;
  }>;
};

export type TransitionConditionInput = {
  branch?: string | null;
  fallback?: boolean | null;
};

export type PortableTriggerStep = {
  key?: string;
  type: 'TRIGGER';
  /** Default: the current value */
  name?: string;
  position?: {
    x: number;
    y: number;
  };
};

export type PortableSendEmailStep = {
  /** Unique in the workflow; generated from the name if left out */
  key?: string;
  name: string;
  position?: {
    x: number;
    y: number;
  };
  templateId?: string | null;
  /** Instead of templateId; its name is ignored */
  template?: TemplateReference | null;
  type: 'SEND_EMAIL';
  config: SendEmailConfig;
};

export type TemplateReference = {
  id: string;
  name?: unknown;
};

export type PortableDelayStep = {
  /** Unique in the workflow; generated from the name if left out */
  key?: string;
  name: string;
  position?: {
    x: number;
    y: number;
  };
  templateId?: string | null;
  /** Instead of templateId; its name is ignored */
  template?: TemplateReference | null;
  type: 'DELAY';
  config: DelayConfig;
};

export type PortableWaitForEventStep = {
  /** Unique in the workflow; generated from the name if left out */
  key?: string;
  name: string;
  position?: {
    x: number;
    y: number;
  };
  templateId?: string | null;
  /** Instead of templateId; its name is ignored */
  template?: TemplateReference | null;
  type: 'WAIT_FOR_EVENT';
  config: WaitForEventConfig;
};

export type PortableDigestStep = {
  /** Unique in the workflow; generated from the name if left out */
  key?: string;
  name: string;
  position?: {
    x: number;
    y: number;
  };
  templateId?: string | null;
  /** Instead of templateId; its name is ignored */
  template?: TemplateReference | null;
  type: 'DIGEST';
  config: DigestConfig;
};

export type PortableConditionStep = {
  /** Unique in the workflow; generated from the name if left out */
  key?: string;
  name: string;
  position?: {
    x: number;
    y: number;
  };
  templateId?: string | null;
  /** Instead of templateId; its name is ignored */
  template?: TemplateReference | null;
  type: 'CONDITION';
  config: ConditionConfig;
};

export type PortableSplitStep = {
  /** Unique in the workflow; generated from the name if left out */
  key?: string;
  name: string;
  position?: {
    x: number;
    y: number;
  };
  templateId?: string | null;
  /** Instead of templateId; its name is ignored */
  template?: TemplateReference | null;
  type: 'SPLIT';
  config: SplitConfig;
};

export type PortableWebhookStep = {
  /** Unique in the workflow; generated from the name if left out */
  key?: string;
  name: string;
  position?: {
    x: number;
    y: number;
  };
  templateId?: string | null;
  /** Instead of templateId; its name is ignored */
  template?: TemplateReference | null;
  type: 'WEBHOOK';
  config: WebhookConfig;
};

export type PortableUpdateContactStep = {
  /** Unique in the workflow; generated from the name if left out */
  key?: string;
  name: string;
  position?: {
    x: number;
    y: number;
  };
  templateId?: string | null;
  /** Instead of templateId; its name is ignored */
  template?: TemplateReference | null;
  type: 'UPDATE_CONTACT';
  config: UpdateContactConfig;
};

export type PortableExitStep = {
  /** Unique in the workflow; generated from the name if left out */
  key?: string;
  name: string;
  position?: {
    x: number;
    y: number;
  };
  templateId?: string | null;
  /** Instead of templateId; its name is ignored */
  template?: TemplateReference | null;
  type: 'EXIT';
  config: ExitConfig;
};

export type KeyedGraph = {
  steps: Array<PortableTriggerStep | PortableSendEmailStep | PortableDelayStep | PortableWaitForEventStep | PortableDigestStep | PortableConditionStep | PortableSplitStep | PortableWebhookStep | PortableUpdateContactStep | PortableExitStep>;
  transitions: Array<{
    from: string;
    to: string;
    branch?: string | null;
  }>;
  exitRules?: Array<{
    eventName: string;
    where?: Array<{
      field: string;
      operator: 'equals' | 'notEquals' | 'contains' | 'notContains' | 'greaterThan' | 'lessThan' | 'greaterThanOrEqual' | 'lessThanOrEqual' | 'exists' | 'notExists';
      value?: unknown;
      /** Compares with this field, in place of value: event., context. or contact. */
      valueOf?: unknown;
    }>;
    reason: string;
  }>;
};

export type SimulateExecutionRequest = {
  contactId?: string;
  /** An invented contact */
  contact?: {
    email: string;
    subscribed?: boolean;
    data?: Record<string, unknown> | null;
  };
  context?: Record<string, unknown>;
  events?: Array<{
    name: string;
    /** Seconds since the start */
    after?: number;
    at?: string;
    data?: Record<string, unknown> | null;
  }>;
  /** Responses of receivers, by the id or the key of the step */
  webhooks?: Record<string, {
    statusCode?: number;
    /** Any JSON; absent: no body */
    response?: unknown;
    /** Number of 503 responses before this one */
    failures?: number;
  }>;
  /** The arms that SPLIT steps draw, by the id or the key of the step */
  arms?: Record<string, string>;
  /** By default it is read from the context at the path of `executionKey` */
  key?: string | number | boolean;
  startAt?: string;
  until?: string;
  horizonDays?: number;
  version?: number;
  /** A graph that is not stored: with ids (`id`, `fromStepId`, `toStepId`), as in GET /workflows/{id}, or with keys (`key`, `from`, `to`), as in POST /workflows; the response then has the keys as ids. The trigger is the workflow's */
  graph?: ProposedGraph | KeyedGraph;
};

export type DryRunEditRequest = {
  /** Versions; by default all with active executions */
  from?: Array<number>;
  to?: number;
  graph?: ProposedGraph;
  /** Steps of the other graph by those of the old graphs, if their ids differ */
  mapping?: Record<string, string>;
  examples?: number;
};

export type Firing = {
  /** The planned time */
  at: string;
  status: 'RUNNING' | 'COMPLETED' | 'MISSED' | 'OVERLAPPED' | 'STOPPED';
  /** Number of matching contacts: `started` plus `skipped` */
  matched: number;
  /** Executions that it has started */
  started: number;
  /** Contacts that may not enter again */
  skipped: number;
  startedAt: string | null;
  completedAt: string | null;
};

export type SignUpRequest = {
  email: string;
  /** None of the 10,000 most common passwords, in any case */
  password: string;
};

export type Account = {
  id: string;
  email: string;
};

export type LogInRequest = {
  email: string;
  password: string;
};

export type VerifyEmailRequest = {
  token: string;
};

export type RequestPasswordResetRequest = {
  email: string;
};

export type ResetPasswordRequest = {
  token: string;
  /** None of the 10,000 most common passwords, in any case */
  newPassword: string;
};

export type User = {
  id: string;
  email: string;
  type: 'PASSWORD' | 'GITHUB_OAUTH' | 'GOOGLE_OAUTH' | 'OIDC';
  emailVerified: boolean;
  createdAt: string;
};

export type DeleteMeRequest = {
  /** Required if the account has one */
  password?: string;
};

export type ChangePasswordRequest = {
  currentPassword: string;
  /** None of the 10,000 most common passwords, in any case */
  newPassword: string;
};

export type Session = {
  id: string;
  createdAt: string;
  /** Exact to five minutes */
  lastSeenAt: string;
  ip: string | null;
  userAgent: string | null;
  /** True for the session of this request */
  current: boolean;
  /** How the user has logged in */
  method: 'password' | 'github' | 'google' | 'oidc' | 'passkey' | 'break_glass';
  /** The identity provider of `oidc`; null for other methods */
  provider: string | null;
  /** The second proof, at the login or later; null: none */
  secondFactor: 'totp' | 'passkey' | 'recovery' | 'provider' | null;
  /** Until then, requests that need a recent login work; null: they always work */
  freshUntil: string | null;
  expiresAt: string;
};

export type Identity = {
  id: string;
  /** The id of the provider */
  provider: string;
  name: string;
  createdAt: string;
  lastUsedAt: string;
};

export type LinkMyIdentityRequest = {
  /** The id of the provider */
  provider: string;
};

export type Factors = {
  factors: Array<Factor>;
  recoveryCodesLeft: number;
  required: boolean;
};

export type Factor = {
  id: string;
  type: 'totp' | 'passkey';
  name: string;
  createdAt: string;
  lastUsedAt: string | null;
};

export type AddTotpRequest = {
  name?: string;
};

export type NewTotp = {
  id: string;
  /** The secret as base32, to type into the app */
  secret: string;
  /** The address in the picture that the app reads */
  uri: string;
};

export type ConfirmTotpRequest = {
  /** Six digits; spaces are ignored */
  code: string;
};

export type NewFactor = {
  factor: Factor;
  /** Ten codes with the first factor, shown once; null with further factors */
  recoveryCodes: Array<string> | null;
};

export type RenameMyFactorRequest = {
  name: string;
};

export type RecoveryCodes = {
  recoveryCodes: Array<string>;
};

export type ProveSecondFactorRequest = {
  /** Code of an authenticator app: six digits */
  code?: string;
  /** A recovery code, which works once */
  recoveryCode?: string;
};

export type AddPasskeyRequest = {
  name?: string;
  /** The result of the browser for the options, in its JSON form */
  response: {
    id: string;
    rawId: string;
    response: Record<string, unknown>;
    type: 'public-key';
    clientExtensionResults?: Record<string, unknown>;
    [key: string]: unknown;
  };
};

export type UsePasskeyOptionsRequest = Record<string, unknown>;

export type UsePasskeyRequest = {
  /** The result of the browser for the options, in its JSON form */
  response: {
    id: string;
    rawId: string;
    response: Record<string, unknown>;
    type: 'public-key';
    clientExtensionResults?: Record<string, unknown>;
    [key: string]: unknown;
  };
};

export type UseBreakGlassRequest = {
  token: string;
};

export type Project = {
  id: string;
  name: string;
  public: string;
  /** Complete only if the keys were just created */
  secret: string;
  role: 'OWNER' | 'ADMIN' | 'MEMBER';
  disabled: boolean;
  disabledReason: 'PAYMENT_FAILED' | 'EMAIL_REPUTATION' | 'PHISHING_DETECTED' | 'CARD_VERIFICATION_FAILED' | 'MANUAL' | null;
  tracking: 'ENABLED' | 'DISABLED' | 'MARKETING_ONLY';
  language: string;
  customer: string | null;
  subscription: string | null;
  billingLimitWorkflows: number | null;
  billingLimitCampaigns: number | null;
  billingLimitTransactional: number | null;
  billingLimitInbound: number | null;
  /** null for the role MEMBER, and while `secondFactorRequired` is true */
  webhookSigningSecret: string | null;
  /** Present if the secret key of the pair may make members administrators */
  keysMayNameAdmins?: true;
  /** Present if the project demands a second factor, which the session does not have */
  secondFactorRequired?: true;
  createdAt: string;
  updatedAt: string;
};

export type CreateProjectRequest = {
  name: string;
};

export type UpdateProjectRequest = {
  name?: string;
  tracking?: 'ENABLED' | 'DISABLED' | 'MARKETING_ONLY';
  language?: string;
  keysMayNameAdmins?: boolean;
};

export type ProjectWithNewKeys = {
  id: string;
  name: string;
  public: string;
  /** Complete only if the keys were just created */
  secret: string;
  role: 'OWNER' | 'ADMIN' | 'MEMBER';
  disabled: boolean;
  disabledReason: 'PAYMENT_FAILED' | 'EMAIL_REPUTATION' | 'PHISHING_DETECTED' | 'CARD_VERIFICATION_FAILED' | 'MANUAL' | null;
  tracking: 'ENABLED' | 'DISABLED' | 'MARKETING_ONLY';
  language: string;
  customer: string | null;
  subscription: string | null;
  billingLimitWorkflows: number | null;
  billingLimitCampaigns: number | null;
  billingLimitTransactional: number | null;
  billingLimitInbound: number | null;
  /** null for the role MEMBER, and while `secondFactorRequired` is true */
  webhookSigningSecret: string | null;
  /** Present if the secret key of the pair may make members administrators */
  keysMayNameAdmins?: true;
  /** Present if the project demands a second factor, which the session does not have */
  secondFactorRequired?: true;
  createdAt: string;
  updatedAt: string;
  membersByKey?: Array<{
    userId: string;
    email: string;
    role: 'OWNER' | 'ADMIN' | 'MEMBER';
    /** An invited person is not a member and sees nothing of the project until they accept */
    status: 'active' | 'invited';
    /** Who added or invited the user; null for the owner */
    addedBy: Actor | null;
    /** The identity provider whose rules have made the member; null: made by hand */
    managedBy: string | null;
    createdAt: string;
  }>;
};

export type AddMemberRequest = {
  email: string;
  role?: 'ADMIN' | 'MEMBER';
};

export type Member = {
  userId: string;
  email: string;
  role: 'OWNER' | 'ADMIN' | 'MEMBER';
  /** An invited person is not a member and sees nothing of the project until they accept */
  status: 'active' | 'invited';
};

export type UpdateMemberRequest = {
  role: 'ADMIN' | 'MEMBER';
};

export type Invitation = {
  projectId: string;
  projectName: string;
  role: 'ADMIN' | 'MEMBER';
  createdAt: string;
};

export type ProjectSecurity = {
  status: {
    projectId: string;
    isHealthy: boolean;
    shouldDisable: boolean;
    /** Always 0: this window is not shown, so that its limits cannot be found out */
    twentyFourHour: FeedbackWindow;
    sevenDay: FeedbackWindow;
    allTime: FeedbackWindow;
    isNewProject: boolean;
    violations: Array<string>;
    warnings: Array<string>;
  };
  levels: {
    bounce7Day: 'healthy' | 'warning' | 'critical';
    bounceAllTime: 'healthy' | 'warning' | 'critical';
    complaint7Day: 'healthy' | 'warning' | 'critical';
    complaintAllTime: 'healthy' | 'warning' | 'critical';
  };
  isDisabled: boolean;
  suspensions: Array<{
    reason: string;
    at: string;
    endedAt: string | null;
  }>;
};

export type FeedbackWindow = {
  total: number;
  bounces: number;
  complaints: number;
  bounceRate: number;
  complaintRate: number;
};

export type BillingLimits = {
  workflows: BillingLimit;
  campaigns: BillingLimit;
  transactional: BillingLimit;
  inbound: BillingLimit;
  currency: string | null;
};

export type BillingLimit = {
  limit: number | null;
  usage: number;
  percentage: number;
  isWarning: boolean;
  isBlocked: boolean;
};

export type SetBillingLimitsRequest = {
  workflows?: number | null;
  campaigns?: number | null;
  transactional?: number | null;
  inbound?: number | null;
};

export type GetBillingConsumptionCredits = {
  balance: number;
  hasCredits: boolean;
  creditAmount: number;
  currency: string;
};

export type GetBillingConsumptionUpcomingInvoice = {
  amountDue: number;
  currency: string;
  periodStart: string;
  periodEnd: string;
  subtotal: number;
  total: number;
};

export type Invoice = {
  id: string;
  number: string | null;
  status: string | null;
  amountDue: number;
  amountPaid: number;
  currency: string;
  created: string;
  periodStart: string;
  periodEnd: string;
  hostedInvoiceUrl: string | null;
  invoicePdf: string | null;
  subtotal: number;
  total: number;
  paid: boolean;
};

export type UnpaidInvoice = {
  id: string;
  number: string | null;
  amountDue: number;
  currency: string;
  dueDate: string | null;
  hostedInvoiceUrl: string | null;
};

export type UploadImageRequest = {
  image: string;
};

export type UploadList = {
  data: Array<StoredFile>;
  cursor?: string;
  hasMore: boolean;
  /** All matches, on the first page; 0 on later ones */
  total: number;
  usage: {
    files: number;
    bytes: number;
    limit: number | null;
  };
};

export type StoredFile = {
  key: string;
  url: string;
  contentType: 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp';
  /** Bytes */
  size: number;
  createdAt: string;
  /** Who uploaded it */
  createdBy: Actor | null;
};

export type FileSet = {
  project: {
    id: string;
    name: string;
  };
  /** The text of each file, by its path */
  files: Record<string, string>;
  objects: Array<FileObject>;
};

export type FileObject = {
  kind: 'workflow' | 'template' | 'segment' | 'topic' | 'event-subscription' | 'send-policy' | 'consent-policy';
  key: string;
  /** null for policies */
  id: string | null;
  name: string;
  path: string;
};

export type CreatePlanRequest = {
  /** The text of each file by its path, as of GET /files. Files that are left out change nothing */
  files: Record<string, string>;
  /** Values of `${NAME}` in the files */
  variables?: Record<string, string>;
  /** Patterns `<kind>/<key>` or `<kind>/<beginning>*` */
  prune?: Array<string>;
  /** Patterns of objects that are never deleted */
  protect?: Array<string>;
  /** Number of active executions to list for each changed workflow */
  examples?: number;
};

export type Plan = {
  id: string;
  project: {
    id: string;
    name: string;
  };
  state: 'open' | 'applied';
  createdBy: Actor | null;
  /** null: the plan is applied */
  expiresAt: string | null;
  appliedAt: string | null;
  appliedBy: Actor | null;
  migrate: 'none' | 'auto' | null;
  note: string | null;
  result: PlanResult | null;
  summary: {
    create: number;
    update: number;
    delete: number;
    /** Files that mean the same as their objects */
    unchanged: number;
    /** Changes that other objects or active executions prevent */
    blocked: number;
    /** Objects without a file that stay, without policies */
    unmanaged: number;
  };
  createdAt: string;
  updatedAt: string;
  /** By kind and key */
  changes: Array<PlanChange>;
  /** About the files of the changes */
  warnings: Array<PlanWarning>;
};

export type PlanResult = {
  objects: Array<{
    action: 'create' | 'update' | 'delete';
    kind: 'workflow' | 'template' | 'segment' | 'topic' | 'event-subscription' | 'send-policy' | 'consent-policy';
    key: string;
    id: string | null;
  }>;
  /** The migrations of active executions */
  jobs: Array<{
    key: string;
    workflowId: string;
    jobId: string;
  }>;
};

export type PlanChangeBlocked = {
  code: 'WORKFLOW_HAS_ACTIVE_EXECUTIONS' | 'TEMPLATE_IN_USE' | 'SEGMENT_IN_USE' | 'TOPIC_IN_USE' | 'TOPIC_LIMIT' | 'EVENT_SUBSCRIPTION_LIMIT';
  details: Record<string, unknown>;
};

export type PlanChange = {
  action: 'create' | 'update' | 'delete';
  kind: 'workflow' | 'template' | 'segment' | 'topic' | 'event-subscription' | 'send-policy' | 'consent-policy';
  key: string;
  /** null for new objects and policies */
  id: string | null;
  name: string;
  /** null: the object is deleted */
  path: string | null;
  /** The first 100 fields that differ: a step by its key, other items of a list by index. null where there is none; long texts are cut */
  fields: Array<{
    at: string;
    before: unknown;
    after: unknown;
  }>;
  /** Number of all fields that differ */
  fieldCount: number;
  /** The version that the workflow gets; null: none */
  newVersion: number | null;
  /** The effect on active executions, as of POST /workflows/{id}/dry-run; null: there is no new version */
  people: PlanPeople | null;
  /** The objects that name this template, segment or topic after the plan */
  usedBy: Array<{
    kind: 'workflow' | 'template' | 'segment' | 'consent-policy';
    key: string;
    /** Active executions of a workflow, which the change reaches */
    active: number;
  }>;
  /** Why the change cannot be made: the error of the endpoint of the object */
  blocked: PlanChangeBlocked | null;
};

export type PlanPeople = {
  active: number;
  /** Everything that the execution can reach is equal */
  same: number;
  /** It would go another way; `why` says where */
  differs: number;
  /** Its step is not in the new graph */
  unmappable: number;
  /** Numbers by reason, without zeros */
  why: Record<string, number>;
  versions: Array<{
    version: number;
    active: number;
    same: number;
    differs: number;
    unmappable: number;
  }>;
  steps: Array<{
    stepId: string;
    name: string;
    waiting: number;
    mapsTo: string | null;
    reason: 'same_id' | 'mapping' | 'step_gone' | 'type_changed';
    key: string;
  }>;
  examples: Array<{
    executionId: string;
    contactId: string;
    version: number;
    currentStepId: string;
    verdict: 'same' | 'differs' | 'unmappable';
    why: 'config' | 'next_step' | 'branches' | 'template' | 'exit_rules' | 'step_gone' | 'type_changed' | null;
  }>;
};

export type PlanWarning = {
  code: 'unknown_secret' | 'liquid_syntax' | 'liquid_limit' | 'unknown_filter' | 'filter_in_fallback' | 'unknown_variable' | 'missing_unsubscribe_link' | 'large_message' | 'image_without_alt' | 'http_link';
  path: string;
  /** Dot path in the file */
  at: string;
  message: string;
};

export type ListedPlanList = {
  data: Array<ListedPlan>;
  cursor?: string;
  hasMore: boolean;
  /** All matches, on the first page; 0 on later ones */
  total: number;
};

export type ListedPlan = {
  id: string;
  project: {
    id: string;
    name: string;
  };
  state: 'open' | 'applied';
  createdBy: Actor | null;
  /** null: the plan is applied */
  expiresAt: string | null;
  appliedAt: string | null;
  appliedBy: Actor | null;
  migrate: 'none' | 'auto' | null;
  note: string | null;
  result: PlanResult | null;
  summary: {
    create: number;
    update: number;
    delete: number;
    /** Files that mean the same as their objects */
    unchanged: number;
    /** Changes that other objects or active executions prevent */
    blocked: number;
    /** Objects without a file that stay, without policies */
    unmanaged: number;
  };
  createdAt: string;
  updatedAt: string;
};

export type ApplyPlanRequest = {
  planId: string;
  /** auto: moves active executions to the new versions of their workflows */
  migrate?: 'none' | 'auto';
  /** Why, for the list of applied plans */
  note?: string;
};

export type DomainDkimNext = {
  selector: string;
  createdAt: string;
};

export type DomainDkimPrevious = {
  selector: string;
  removeAfter: string;
};

export type DomainDkim = {
  /** The selector of the key that signs */
  selector: string;
  /** When DNS first showed it; null: mail is not signed yet */
  activeSince: string | null;
  next: DomainDkimNext | null;
  previous: DomainDkimPrevious | null;
};

export type Domain = {
  id: string;
  domain: string;
  status: 'pending' | 'verified' | 'failed';
  verified: boolean;
  dkimTokens: Array<string>;
  /** own: Everpost signs (DKIM). provider: the server that takes the mail does */
  signing?: 'own' | 'provider';
  ed25519?: boolean;
  /** Ordinary mail to its addresses is taken */
  inbound?: boolean;
  /** The keys; null if the provider signs */
  dkim?: DomainDkim | null;
  /** Host to which other servers report about mail of this domain; null: none */
  returnPath?: string | null;
  /** The host of the links in its mail, if it has its own */
  tracking?: {
    host: string;
    /** State of its record, as of the last check */
    status: 'pending' | 'verified' | 'failed';
  };
  records: Array<{
    type: 'CNAME' | 'MX' | 'TXT';
    name: string;
    value: string;
    priority?: number;
    /** The strings of `value`, if the record is of type TXT */
    strings?: Array<string>;
    /** The record as a line of a zone file */
    zoneLine: string;
    purpose: 'dkim' | 'dkim_ed25519' | 'dkim_next' | 'dkim_old' | 'ownership' | 'mail_from' | 'return_path' | 'spf' | 'dmarc' | 'inbound' | 'tracking';
    /** True if the domain is verified only with this record */
    needed: boolean;
    /** As of the last check: not found, right, or something else found */
    status: 'pending' | 'verified' | 'failed';
    /** The values that DNS has instead of the right one */
    found: Array<string>;
    /** The time until which a `dkim_old` record must be kept */
    removeAfter?: string;
  }>;
  lastCheckedAt: string | null;
  verifiedAt: string | null;
  projectId: string;
  createdAt: string;
  updatedAt: string;
};

export type CreateDomainRequest = {
  domain: string;
  /** Required without a secret key */
  projectId?: string;
  /** own: Everpost signs (DKIM). provider: the server that takes the mail does */
  signing?: 'own' | 'provider';
  /** Also sign by Ed25519 (RFC 8463), as soon as DNS shows that key; only with `own` */
  ed25519?: boolean;
  /** Take ordinary mail to addresses of this domain, once it is verified */
  inbound?: boolean;
};

export type UpdateDomainRequest = {
  /** own: Everpost signs (DKIM). provider: the server that takes the mail does */
  signing?: 'own' | 'provider';
  /** Also sign by Ed25519 (RFC 8463), as soon as DNS shows that key; only with `own` */
  ed25519?: boolean;
  /** Take ordinary mail to addresses of this domain, once it is verified */
  inbound?: boolean;
  /** Host for pixel and links in its mail, below the domain; null: that of the server */
  trackingSubdomain?: string | null;
};

export type CheckedDomainDkimNext = {
  selector: string;
  createdAt: string;
};

export type CheckedDomainDkimPrevious = {
  selector: string;
  removeAfter: string;
};

export type CheckedDomainDkim = {
  /** The selector of the key that signs */
  selector: string;
  /** When DNS first showed it; null: mail is not signed yet */
  activeSince: string | null;
  next: CheckedDomainDkimNext | null;
  previous: CheckedDomainDkimPrevious | null;
};

export type CheckedDomain = {
  id: string;
  domain: string;
  status: 'pending' | 'verified' | 'failed';
  verified: boolean;
  dkimTokens: Array<string>;
  /** own: Everpost signs (DKIM). provider: the server that takes the mail does */
  signing?: 'own' | 'provider';
  ed25519?: boolean;
  /** Ordinary mail to its addresses is taken */
  inbound?: boolean;
  /** The keys; null if the provider signs */
  dkim?: CheckedDomainDkim | null;
  /** Host to which other servers report about mail of this domain; null: none */
  returnPath?: string | null;
  /** The host of the links in its mail, if it has its own */
  tracking?: {
    host: string;
    /** State of its record, as of the last check */
    status: 'pending' | 'verified' | 'failed';
  };
  records: Array<{
    type: 'CNAME' | 'MX' | 'TXT';
    name: string;
    value: string;
    priority?: number;
    /** The strings of `value`, if the record is of type TXT */
    strings?: Array<string>;
    /** The record as a line of a zone file */
    zoneLine: string;
    purpose: 'dkim' | 'dkim_ed25519' | 'dkim_next' | 'dkim_old' | 'ownership' | 'mail_from' | 'return_path' | 'spf' | 'dmarc' | 'inbound' | 'tracking';
    /** True if the domain is verified only with this record */
    needed: boolean;
    /** As of the last check: not found, right, or something else found */
    status: 'pending' | 'verified' | 'failed';
    /** The values that DNS has instead of the right one */
    found: Array<string>;
    /** The time until which a `dkim_old` record must be kept */
    removeAfter?: string;
  }>;
  lastCheckedAt: string | null;
  verifiedAt: string | null;
  projectId: string;
  createdAt: string;
  updatedAt: string;
  /** The same as dkimTokens */
  tokens: Array<string>;
};

export type SmtpProvider = {
  id: string;
  scope: 'project';
  name: string;
  kind: 'smtp';
  feedback: 'dsn' | 'postmark' | 'mailgun' | 'sendgrid' | 'brevo' | 'mailjet' | 'resend' | 'none' | 'ses';
  enabled: boolean;
  host: string;
  port: number;
  security: 'starttls' | 'tls' | 'none';
  user: string | null;
  hasPassword: boolean;
  hasFeedbackSecret: boolean;
  /** Sender domains that it may send for; null: all */
  domains: Array<string> | null;
  /** null: no limit of its own */
  ratePerSecond: number | null;
  /** null: no limit of its own */
  maxMessageMb: number | null;
  /** False: its mail gets no DKIM signature of ours */
  ownSigning: boolean;
  /** True if mail can become DELIVERED */
  reportsDelivery: boolean;
  /** down: it cannot take mail now; mail waits, and one at a time is tried */
  state: 'up' | 'down' | 'disabled';
  /** When the next mail is tried while it is down */
  nextTryAt: string | null;
  projectId: string;
  createdAt: string;
  updatedAt: string;
};

export type SesProvider = {
  id: string;
  scope: 'project';
  name: string;
  kind: 'ses';
  feedback: 'ses';
  enabled: boolean;
  region: string;
  accessKeyId: string;
  configurationSet: string | null;
  snsTopicArn: string | null;
  hasFeedbackSecret: boolean;
  /** Sender domains that it may send for; null: all */
  domains: Array<string> | null;
  /** null: no limit of its own */
  ratePerSecond: number | null;
  /** null: no limit of its own */
  maxMessageMb: number | null;
  /** False: its mail gets no DKIM signature of ours */
  ownSigning: boolean;
  /** True if mail can become DELIVERED */
  reportsDelivery: boolean;
  /** down: it cannot take mail now; mail waits, and one at a time is tried */
  state: 'up' | 'down' | 'disabled';
  /** When the next mail is tried while it is down */
  nextTryAt: string | null;
  projectId: string;
  createdAt: string;
  updatedAt: string;
};

export type InstallationProvider = {
  /** `default`, or a name that the operator has given */
  id: string;
  scope: 'installation';
  name: string;
  kind: 'smtp' | 'ses' | 'mailbox';
  feedback: 'dsn' | 'postmark' | 'mailgun' | 'sendgrid' | 'brevo' | 'mailjet' | 'resend' | 'none' | 'ses' | 'mailbox';
  enabled: boolean;
  reportsDelivery: boolean;
  /** down: it cannot take mail now; mail waits, and one at a time is tried */
  state: 'up' | 'down' | 'disabled';
  /** When the next mail is tried while it is down */
  nextTryAt: string | null;
};

export type CreateProviderRequest = {
  /** Unique in the project, in any case */
  name: string;
  kind: 'smtp' | 'ses';
  /** Required for the kind smtp */
  host?: string;
  /** Default: 587 */
  port?: number;
  /** Default: starttls, on port 465 tls. Both insist on a valid certificate */
  security?: 'starttls' | 'tls' | 'none';
  user?: string | null;
  /** Never returned */
  password?: string | null;
  /** Required for the kind ses */
  region?: string;
  /** Required for the kind ses */
  accessKeyId?: string;
  /** Required for the kind ses; never returned */
  secretAccessKey?: string;
  configurationSet?: string | null;
  /** Topic that reports about its mail */
  snsTopicArn?: string | null;
  /** How it reports. Default: dsn, by mail; for the kind ses, ses */
  feedback?: 'dsn' | 'postmark' | 'mailgun' | 'sendgrid' | 'brevo' | 'mailjet' | 'resend' | 'none' | 'ses';
  /** Checks its webhooks; required for mailgun, sendgrid and resend. Never returned */
  feedbackSecret?: string | null;
  /** Sender domains that it may send for; null: all */
  domains?: Array<string> | null;
  /** Messages per second; null: no limit of its own */
  ratePerSecond?: number | null;
  /** null: no limit of its own */
  maxMessageMb?: number | null;
  /** False: its mail gets no DKIM signature of ours */
  ownSigning?: boolean;
  /** False: it gets no new mail */
  enabled?: boolean;
};

export type NewSmtpProvider = {
  id: string;
  scope: 'project';
  name: string;
  kind: 'smtp';
  feedback: 'dsn' | 'postmark' | 'mailgun' | 'sendgrid' | 'brevo' | 'mailjet' | 'resend' | 'none' | 'ses';
  enabled: boolean;
  host: string;
  port: number;
  security: 'starttls' | 'tls' | 'none';
  user: string | null;
  hasPassword: boolean;
  hasFeedbackSecret: boolean;
  /** Sender domains that it may send for; null: all */
  domains: Array<string> | null;
  /** null: no limit of its own */
  ratePerSecond: number | null;
  /** null: no limit of its own */
  maxMessageMb: number | null;
  /** False: its mail gets no DKIM signature of ours */
  ownSigning: boolean;
  /** True if mail can become DELIVERED */
  reportsDelivery: boolean;
  /** down: it cannot take mail now; mail waits, and one at a time is tried */
  state: 'up' | 'down' | 'disabled';
  /** When the next mail is tried while it is down */
  nextTryAt: string | null;
  projectId: string;
  createdAt: string;
  updatedAt: string;
  /** Address for the webhooks of its service; null: it has none. Not shown again */
  feedbackUrl: string | null;
};

export type NewSesProvider = {
  id: string;
  scope: 'project';
  name: string;
  kind: 'ses';
  feedback: 'ses';
  enabled: boolean;
  region: string;
  accessKeyId: string;
  configurationSet: string | null;
  snsTopicArn: string | null;
  hasFeedbackSecret: boolean;
  /** Sender domains that it may send for; null: all */
  domains: Array<string> | null;
  /** null: no limit of its own */
  ratePerSecond: number | null;
  /** null: no limit of its own */
  maxMessageMb: number | null;
  /** False: its mail gets no DKIM signature of ours */
  ownSigning: boolean;
  /** True if mail can become DELIVERED */
  reportsDelivery: boolean;
  /** down: it cannot take mail now; mail waits, and one at a time is tried */
  state: 'up' | 'down' | 'disabled';
  /** When the next mail is tried while it is down */
  nextTryAt: string | null;
  projectId: string;
  createdAt: string;
  updatedAt: string;
  /** Address for the webhooks of its service; null: it has none. Not shown again */
  feedbackUrl: string | null;
};

export type UpdateProviderRequest = {
  /** Unique in the project, in any case */
  name?: string;
  /** Cannot be changed */
  kind?: 'smtp' | 'ses';
  /** Required for the kind smtp */
  host?: string;
  /** Default: 587 */
  port?: number;
  /** Default: starttls, on port 465 tls. Both insist on a valid certificate */
  security?: 'starttls' | 'tls' | 'none';
  user?: string | null;
  /** Never returned */
  password?: string | null;
  /** Required for the kind ses */
  region?: string;
  /** Required for the kind ses */
  accessKeyId?: string;
  /** Required for the kind ses; never returned */
  secretAccessKey?: string;
  configurationSet?: string | null;
  /** Topic that reports about its mail */
  snsTopicArn?: string | null;
  /** How it reports. Default: dsn, by mail; for the kind ses, ses */
  feedback?: 'dsn' | 'postmark' | 'mailgun' | 'sendgrid' | 'brevo' | 'mailjet' | 'resend' | 'none' | 'ses';
  /** Checks its webhooks; required for mailgun, sendgrid and resend. Never returned */
  feedbackSecret?: string | null;
  /** Sender domains that it may send for; null: all */
  domains?: Array<string> | null;
  /** Messages per second; null: no limit of its own */
  ratePerSecond?: number | null;
  /** null: no limit of its own */
  maxMessageMb?: number | null;
  /** False: its mail gets no DKIM signature of ours */
  ownSigning?: boolean;
  /** False: it gets no new mail */
  enabled?: boolean;
};

export type TestProviderRequest = {
  to?: string;
  /** Address at a verified domain; required with `to` */
  from?: string;
};

export type Routing = {
  routes: Array<Route>;
  /** null: it was never set */
  updatedAt: string | null;
};

export type Route = {
  match: RouteMatch;
  providers: Array<RouteProvider>;
  onDown: 'hold' | 'next';
};

export type RouteMatch = {
  messageClass?: Array<'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS'>;
  domains?: Array<string>;
  topicIds?: Array<string>;
  receivers?: Array<string>;
};

export type RouteProvider = {
  id: string;
  weight: number;
};

export type SetRoutingRequest = {
  /** The first one that matches decides */
  routes: Array<{
    /** All given parts must match; {}: all mail */
    match: {
      messageClass?: Array<'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS'>;
      /** Domains of the sender */
      domains?: Array<string>;
      /** Topics of the mail; a topic that has been deleted matches nothing */
      topicIds?: Array<string>;
      /** Domains of the recipient; *.edu: each name below edu */
      receivers?: Array<string>;
    };
    providers: Array<{
      /** A provider of the project or of the installation */
      id: string;
      /** Share of the mail; 0: only when the providers before it cannot take it */
      weight?: number;
    }>;
    /** While the chosen provider is down: hold waits for it, next goes on in the list */
    onDown?: 'hold' | 'next';
  }>;
};

export type PreviewRoutingRequest = {
  from: string;
  to: string;
  messageClass: 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS';
  topicId?: string | null;
};

export type MailboxSummary = {
  id: string;
  from: string;
  to: string;
  subject: string;
  receivedAt: string;
};

export type ApiKey = {
  /** `secret` for the secret key of the pair */
  id: string;
  name: string;
  kind: 'secret' | 'public';
  /** Complete only in the response that has created it */
  key: string;
  scopes: Array<string>;
  /** The only sender domains it may send from; null: any */
  domains: Array<string> | null;
  /** The only networks it works from; null: any */
  cidrs: Array<string> | null;
  /** The only events that it may track; null: any */
  events: Array<string> | null;
  expiresAt: string | null;
  /** Until then its former value works as well */
  rotatesUntil: string | null;
  /** Exact to a minute */
  lastUsedAt: string | null;
  /** null for the secret key of the pair */
  createdBy: Actor | null;
  revokedAt: string | null;
  revokedBy: Actor | null;
  projectId: string;
  /** null for the secret key of the pair */
  createdAt: string | null;
  /** null for the secret key of the pair */
  updatedAt: string | null;
};

export type CreateApiKeyRequest = {
  name: string;
  kind?: 'secret' | 'public';
  /** Required for a secret key */
  scopes?: Array<'*' | '*:read' | 'analytics:read' | 'audit:read' | 'campaigns:read' | 'campaigns:send' | 'campaigns:write' | 'contacts:read' | 'contacts:write' | 'domains:read' | 'domains:write' | 'emails:read' | 'emails:send' | 'emails:write' | 'events:read' | 'events:send' | 'events:write' | 'executions:read' | 'executions:write' | 'files:read' | 'files:write' | 'keys:read' | 'keys:write' | 'members:read' | 'members:write' | 'policies:read' | 'policies:write' | 'privacy:read' | 'privacy:write' | 'project:read' | 'providers:read' | 'providers:write' | 'requests:read' | 'secrets:read' | 'secrets:write' | 'segments:read' | 'segments:write' | 'subscriptions:read' | 'subscriptions:write' | 'suppression:read' | 'suppression:write' | 'templates:read' | 'templates:write' | 'topics:read' | 'topics:write' | 'uploads:read' | 'uploads:write' | 'verify:read' | 'workflows:read' | 'workflows:write'>;
  /** The only sender domains it may send from; null: any */
  domains?: Array<string> | null;
  /** The only networks it works from; null: any */
  cidrs?: Array<string> | null;
  /** The only events that a public key may track; null: any */
  events?: Array<string> | null;
  /** From then on it is refused; null: never */
  expiresAt?: string | null;
};

export type UpdateApiKeyRequest = {
  name?: string;
  /** The only sender domains it may send from; null: any */
  domains?: Array<string> | null;
  /** The only networks it works from; null: any */
  cidrs?: Array<string> | null;
  /** The only events that a public key may track; null: any */
  events?: Array<string> | null;
  /** From then on it is refused; null: never */
  expiresAt?: string | null;
  kind?: 'secret' | 'public';
  scopes?: Array<'*' | '*:read' | 'analytics:read' | 'audit:read' | 'campaigns:read' | 'campaigns:send' | 'campaigns:write' | 'contacts:read' | 'contacts:write' | 'domains:read' | 'domains:write' | 'emails:read' | 'emails:send' | 'emails:write' | 'events:read' | 'events:send' | 'events:write' | 'executions:read' | 'executions:write' | 'files:read' | 'files:write' | 'keys:read' | 'keys:write' | 'members:read' | 'members:write' | 'policies:read' | 'policies:write' | 'privacy:read' | 'privacy:write' | 'project:read' | 'providers:read' | 'providers:write' | 'requests:read' | 'secrets:read' | 'secrets:write' | 'segments:read' | 'segments:write' | 'subscriptions:read' | 'subscriptions:write' | 'suppression:read' | 'suppression:write' | 'templates:read' | 'templates:write' | 'topics:read' | 'topics:write' | 'uploads:read' | 'uploads:write' | 'verify:read' | 'workflows:read' | 'workflows:write'>;
};

export type RotateApiKeyRequest = {
  overlapSeconds?: number;
  /** Left out: unchanged; null: never */
  expiresAt?: string | null;
};

export type LoggedRequestList = {
  data: Array<LoggedRequest>;
  cursor?: string;
  hasMore: boolean;
  /** All matches, on the first page; 0 on later ones */
  total: number;
};

export type LoggedRequest = {
  /** As in the header X-Request-ID of the response */
  requestId: string;
  at: string;
  method: string;
  /** The path as the reference has it, such as `/contacts/{id}`; null: no such path */
  route: string | null;
  status: number;
  /** Milliseconds from the headers of the request to its response */
  ms: number;
  errorCode: string | null;
  actor: Actor | null;
  ip: string;
  /** How the Idempotency-Key was used; null: it had no effect */
  idempotency: 'first' | 'replayed' | 'refused' | null;
  /** The entry stands for this number of requests; only of tracked events it is not 1 */
  sample: number;
};

export type LoggedRequestDetailErrorsItem = {
  field: string;
  code: string;
};

export type LoggedRequestDetail = {
  /** As in the header X-Request-ID of the response */
  requestId: string;
  at: string;
  method: string;
  /** The path as the reference has it, such as `/contacts/{id}`; null: no such path */
  route: string | null;
  status: number;
  /** Milliseconds from the headers of the request to its response */
  ms: number;
  errorCode: string | null;
  actor: Actor | null;
  ip: string;
  /** How the Idempotency-Key was used; null: it had no effect */
  idempotency: 'first' | 'replayed' | 'refused' | null;
  /** The entry stands for this number of requests; only of tracked events it is not 1 */
  sample: number;
  /** The invalid fields of a VALIDATION_ERROR, at most 50 */
  errors: Array<LoggedRequestDetailErrorsItem> | null;
  /** The details of an error if they hold only ids, codes and numbers */
  details: Record<string, unknown> | null;
};

export type SecurityEventList = {
  data: Array<SecurityEvent>;
  cursor?: string;
  hasMore: boolean;
  /** All matches, on the first page; 0 on later ones */
  total: number;
};

export type SecurityEventTarget = {
  type: string;
  id: string;
};

export type SecurityEventChangesItem = {
  field: string;
  before: unknown;
  after: unknown;
};

export type SecurityEvent = {
  id: string;
  event: string;
  at: string;
  actor: Actor | null;
  ip: string | null;
  /** As in the header X-Request-ID of the response */
  requestId: string | null;
  /** The changed record; null: the change concerns no single record */
  target: SecurityEventTarget | null;
  /** The fields that changed. Secret values are `•••`; of a value longer than 200 characters, `{length, sha256}` is kept */
  changes: Array<SecurityEventChangesItem> | null;
  /** More about the event: ids and short texts */
  details: Record<string, unknown>;
  /** Number of equal events within a minute that the entry stands for */
  count: number;
};

export type Secret = {
  name: string;
  updatedAt: string;
  /** The steps and event subscriptions that use it */
  usedIn: Array<SecretOfStep | SecretOfSubscription>;
  /** Number of further items of each list that shows only its first 100, by the name of the list; absent when all are listed */
  more?: Record<string, number>;
  /** If set, it is only sent to these hosts */
  hosts?: Array<string>;
};

export type SecretOfStep = {
  workflowId: string;
  stepId: string;
};

export type SecretOfSubscription = {
  subscriptionId: string;
};

export type SetSecretRequest = {
  value: string;
  /** It is sent only to these hosts; null: to any. Left out: unchanged */
  hosts?: Array<string> | null;
};

export type Ramp = {
  id: string;
  /** It counts mail by this provider; null: by any */
  providerId: string | null;
  /** It counts mail from this domain; null: from any */
  domain: string | null;
  startPerDay: number;
  factor: number;
  days: number;
  /** Mail over the limit waits, or leaves by the next provider of its route */
  over: 'hold' | 'next';
  /** null: never */
  stopWhen: RampThreshold | null;
  status: 'RUNNING' | 'PAUSED' | 'STOPPED' | 'DONE';
  stoppedFor: 'bounces' | 'complaints' | null;
  day: number;
  /** Messages of this day; null: the ramp is DONE */
  cap: number | null;
  /** Messages of this day that were accepted, or may be */
  used: number;
  /** Messages that wait because of this ramp */
  held: number;
  /** null: days do not pass */
  nextDayAt: string | null;
  /** The days that are over */
  history: Array<RampDay>;
  startedAt: string;
  projectId: string;
  createdAt: string;
  updatedAt: string;
};

export type RampThreshold = {
  /** In percent, of permanent bounces; null: never */
  bounceRate: number | null;
  /** In percent; null: never */
  complaintRate: number | null;
  /** The rates are compared from this number of messages on */
  minSent: number;
};

export type RampDay = {
  day: number;
  cap: number;
  sent: number;
  bounced: number;
  complained: number;
};

export type CreateRampRequestStopWhen = {
  bounceRate?: number | null;
  complaintRate?: number | null;
  minSent?: number;
};

export type CreateRampRequest = {
  providerId?: string | null;
  domain?: string | null;
  /** Messages of the first day */
  startPerDay: number;
  /** Each day has this times the day before */
  factor?: number;
  /** After the last day there is no limit */
  days: number;
  /** Mail over the limit waits, or leaves by the next provider of its route */
  over?: 'hold' | 'next';
  /** Rates in percent at which it stops; null: never */
  stopWhen?: CreateRampRequestStopWhen | null;
};

export type SendPolicy = {
  /** The project's time zone, for contacts without their own */
  timeZone: string;
  contactTimeZoneField: string | null;
  quietHours: QuietHours | null;
  /** At most `max` mails to a contact within `perDays` days; every cap applies */
  caps: Array<{
    max: number;
    /** In units of 24 hours */
    perDays: number;
  }>;
  /** Mail over a cap is skipped, or delayed */
  onCap: 'skip' | 'delay';
  /** null: it was never set */
  updatedAt: string | null;
};

export type QuietHours = {
  from: string;
  to: string;
  days: Array<'mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun'>;
};

export type QuietHoursInput = {
  from: string;
  /** Or 24:00; earlier than `from`: on the next day */
  to: string;
  /** Days on which it begins */
  days?: Array<'mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun'>;
};

export type SetSendPolicyRequest = {
  /** The project's time zone, for contacts without their own */
  timeZone?: string;
  /** Contact field with its time zone; null: all contacts use the project's */
  contactTimeZoneField?: string | null;
  /** In the contact's zone; null: none */
  quietHours?: QuietHoursInput | null;
  /** At most `max` mails to a contact within `perDays` days; every cap applies */
  caps?: Array<{
    max: number;
    /** In units of 24 hours */
    perDays: number;
  }>;
  /** Mail over a cap is skipped, or delayed */
  onCap?: 'skip' | 'delay';
};

export type LinkPolicy = {
  utm: Utm | null;
  utmHosts: Array<string>;
  /** null: it was never set */
  updatedAt: string | null;
};

export type Utm = {
  source: string | null;
  medium: string | null;
  campaign: string | null;
  term: string | null;
  content: string | null;
};

export type SetLinkPolicyRequest = {
  /** Parameters `utm_source` and so on; null: none. A value may contain {campaign}, {workflow}, {step}, {template}, {arm}: names as slugs */
  utm?: UtmInput | null;
  /** Only links to these hosts, and to hosts below them, get parameters; empty: all */
  utmHosts?: Array<string>;
};

export type Holdout = {
  percent: number;
  /** null: it was neither set nor made */
  salt: string | null;
  scope: 'marketing' | HoldoutTopics | HoldoutWorkflows;
  endsAt: string | null;
  /** null: it was never set */
  updatedAt: string | null;
};

export type HoldoutTopics = {
  topicIds: Array<string>;
};

export type HoldoutWorkflows = {
  workflowIds: Array<string>;
};

export type SetHoldoutRequestScope = {
  topicIds?: Array<string>;
  workflowIds?: Array<string>;
};

export type SetHoldoutRequest = {
  /** 0: no contact. A higher percentage keeps the contacts that are held out already */
  percent?: number;
  /** Key of the hash that chooses the contacts: another salt, other contacts */
  salt?: string;
  /** `marketing`: all mail that the send policy concerns; or only mail of these topics or workflows */
  scope?: 'marketing' | SetHoldoutRequestScope;
  /** From then on, no contact is held out */
  endsAt?: string | null;
};

export type HoldoutGroup = {
  contacts: number;
  /** Contacts with at least one event */
  converted: number;
  /** Percent of the contacts that converted; 0 without contacts */
  rate: number;
  events: number;
  /** Sum of `valueField` of the events; others than numbers count as 0 */
  value: number;
};

export type ConsentPolicy = {
  /** true: public keys, received mail and pages subscribe only contacts that confirm */
  requireConfirmation: boolean;
  /** Template of the confirmation mail; null: the built-in text */
  templateId: string | null;
  /** Sender of the confirmation mail if its template has none */
  from: string | null;
  fromName: string | null;
  /** Seconds from the first mail to the reminder, for later requests; null: there is none */
  remindAfter: number | null;
  /** Seconds from the last mail to the end of the request, for later requests */
  expireAfter: number;
  /** The mail that an address does not get after a permanent bounce */
  bounceScope: 'marketing' | 'all';
  /** null: it was never set */
  updatedAt: string | null;
};

export type SetConsentPolicyRequest = {
  /** true: public keys, received mail and pages subscribe only contacts that confirm */
  requireConfirmation?: boolean;
  /** Template of the confirmation mail, which uses `confirmUrl`. null: the built-in text */
  templateId?: string | null;
  /** Sender of the confirmation mail if its template has none */
  from?: string | null;
  fromName?: string | null;
  /** Seconds from the first mail to the reminder, for later requests; null: there is none */
  remindAfter?: number | null;
  /** Seconds from the last mail to the end of the request, for later requests */
  expireAfter?: number;
  /** The mail that an address does not get after a permanent bounce */
  bounceScope?: 'marketing' | 'all';
};

export type SignInPolicy = {
  /** True: sessions without a second factor reach nothing of the project */
  requireSecondFactor: boolean;
  rules: Array<SignInRule>;
  /** null: it was never set */
  updatedAt: string | null;
};

export type SignInRule = {
  /** The id of an identity provider that names this project in `projects` */
  provider: string;
  /** A top-level claim: a text, or a list of texts; null: every user of the provider */
  claim: string | null;
  /** The text that the claim must be or have; null exactly if `claim` is null */
  value: string | null;
  role: 'ADMIN' | 'MEMBER';
};

export type SetSignInPolicyRequest = {
  requireSecondFactor?: boolean;
  rules?: Array<{
    /** The id of an identity provider that names this project in `projects` */
    provider: string;
    /** A top-level claim: a text, or a list of texts; null: every user of the provider */
    claim: string | null;
    /** The text that the claim must be or have; null exactly if `claim` is null */
    value: string | null;
    role: 'ADMIN' | 'MEMBER';
  }>;
};

export type SuppressionList = {
  data: Array<Suppression>;
  cursor?: string;
  hasMore: boolean;
  /** All matches, on the first page; 0 on later ones */
  total: number;
};

export type AddSuppressionsRequest = {
  emails: Array<string>;
  scope?: 'marketing' | 'all';
  reason?: 'manual' | 'import';
  /** When the entries end; null: they do not end */
  until?: string | null;
};

export type SuppressionsRecorded = {
  added: number;
  updated: number;
  unchanged: number;
  /** Invalid addresses, as sent */
  invalid: Array<string>;
};

export type SuppressionOfAddress = {
  /** null in lists while only a hash of it is kept */
  email: string | null;
  /** true: only a hash of the address is kept */
  hashed: boolean;
  reason: 'hard_bounce' | 'complaint' | 'manual' | 'import' | 'erased' | 'opt_out';
  /** `marketing`: no mail of class MARKETING; `all`: no mail except tests of campaigns */
  scope: 'marketing' | 'all';
  /** The mail whose feedback or link made the entry */
  emailId: string | null;
  /** When the entry ends; null: it does not end */
  until: string | null;
  createdAt: string;
  /** The consent of an erased contact, oldest first */
  history?: Array<{
    at: string;
    action: string;
    source: string;
    topic: string | null;
  }>;
};

export type Segment = {
  id: string;
  name: string;
  description: string | null;
  type: 'DYNAMIC' | 'STATIC';
  condition: Condition | null;
  /** The condition as a list, when it can be written so */
  filters: FlatCondition | null;
  trackMembership: boolean;
  /** The last count; unsubscribed contacts are included */
  memberCount: number;
  projectId: string;
  createdAt: string;
  updatedAt: string;
};

export type CreateSegmentRequest = {
  name: string;
  description?: string | null;
  type?: 'DYNAMIC' | 'STATIC';
  condition?: ConditionInput | null;
  /** Instead of condition */
  filters?: ConditionInput | null;
  trackMembership?: boolean;
};

export type UpdateSegmentRequest = {
  name?: string;
  description?: string | null;
  /** Cannot be changed */
  type?: 'DYNAMIC' | 'STATIC';
  condition?: ConditionInput | null;
  /** Instead of condition */
  filters?: ConditionInput | null;
  /** When it is switched off, stored members are removed without events */
  trackMembership?: boolean;
};

export type ContactPage = {
  data: Array<Contact>;
  total: number;
  page: number;
  pageSize: number;
  totalPages: number;
};

export type AddSegmentMembersRequest = {
  emails: Array<string>;
  createMissing?: boolean;
  /** Subscription of contacts that this request creates */
  subscribed?: boolean;
};

export type RemoveSegmentMembersRequest = {
  emails: Array<string>;
};

export type TemplatePage = {
  data: Array<Template>;
  total: number;
  page: number;
  pageSize: number;
  totalPages: number;
};

export type Template = {
  id: string;
  name: string;
  description: string | null;
  subject: string;
  body: string;
  /** The message class. MARKETING goes to subscribed contacts only, and gets a footer to opt out. TRANSACTIONAL goes to all contacts, without a footer. HEADLESS has no footer either; unsubscribed contacts get it only with /v1/send. */
  type: 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS';
  from: string | null;
  fromName: string | null;
  replyTo: string | null;
  /** Topic of marketing mail */
  topicId?: string;
  projectId: string;
  createdAt: string;
  updatedAt: string;
};

export type CreateTemplateRequest = {
  name: string;
  subject: string;
  body: string;
  /** The message class. MARKETING goes to subscribed contacts only, and gets a footer to opt out. TRANSACTIONAL goes to all contacts, without a footer. HEADLESS has no footer either; unsubscribed contacts get it only with /v1/send. */
  type: 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS';
  from?: string | null;
  fromName?: string | null;
  replyTo?: string | null;
  description?: string | null;
  /** Only with the type MARKETING */
  topicId?: string | null;
};

export type UpdateTemplateRequest = {
  name?: string;
  subject?: string;
  body?: string;
  /** The message class. MARKETING goes to subscribed contacts only, and gets a footer to opt out. TRANSACTIONAL goes to all contacts, without a footer. HEADLESS has no footer either; unsubscribed contacts get it only with /v1/send. */
  type?: 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS';
  from?: string | null;
  fromName?: string | null;
  replyTo?: string | null;
  description?: string | null;
  /** Only with the type MARKETING */
  topicId?: string | null;
};

export type BulkUpdateTemplatesRequest = {
  ids: Array<string>;
  delete?: boolean;
};

export type PreviewTemplateRequest = {
  subject: string;
  body: string;
  /** The message class. MARKETING goes to subscribed contacts only, and gets a footer to opt out. TRANSACTIONAL goes to all contacts, without a footer. HEADLESS has no footer either; unsubscribed contacts get it only with /v1/send. */
  type?: 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS';
  contactId?: string;
  /** An invented contact */
  contact?: {
    email: string;
    subscribed?: boolean;
    data?: Record<string, unknown> | null;
  };
  /** One-time values, as in /v1/send */
  data?: Record<string, unknown> | null;
};

export type TemplatePreview = {
  subject: string;
  /** The document as it would be sent, without tracking */
  html: string;
  text: string;
  /** Size of the HTML */
  bytes: number;
  /** At most 100 */
  warnings: Array<{
    code: 'liquid_syntax' | 'liquid_limit' | 'unknown_filter' | 'filter_in_fallback' | 'unknown_variable' | 'missing_unsubscribe_link' | 'large_message' | 'image_without_alt' | 'http_link';
    message: string;
    line: number | null;
    column: number | null;
  }>;
};

export type PreviewStoredTemplateRequest = {
  contactId?: string;
  /** An invented contact */
  contact?: {
    email: string;
    subscribed?: boolean;
    data?: Record<string, unknown> | null;
  };
  /** One-time values, as in /v1/send */
  data?: Record<string, unknown> | null;
};

export type TestTemplateRequest = {
  email: string;
  subject: string;
  body: string;
  /** The message class. MARKETING goes to subscribed contacts only, and gets a footer to opt out. TRANSACTIONAL goes to all contacts, without a footer. HEADLESS has no footer either; unsubscribed contacts get it only with /v1/send. */
  type?: 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS';
  from: string;
  fromName?: string | null;
  replyTo?: string | null;
  contactId?: string;
  /** An invented contact */
  contact?: {
    email: string;
    subscribed?: boolean;
    data?: Record<string, unknown> | null;
  };
  /** One-time values, as in /v1/send */
  data?: Record<string, unknown> | null;
};

export type CountedWorkflowPage = {
  data: Array<CountedWorkflow>;
  total: number;
  page: number;
  pageSize: number;
  totalPages: number;
};

export type CountedWorkflow = {
  id: string;
  name: string;
  description: string | null;
  enabled: boolean;
  /** MANUAL: started only through the API */
  triggerType: 'EVENT' | 'MANUAL' | 'SCHEDULE';
  triggerConfig: {
    eventName?: string;
    /** Conditions that must all hold: on the data of the event (`event.`), on the contact (`contact.`) and on the context of the execution (`context.`) */
    where?: Array<{
      field: string;
      operator: 'equals' | 'notEquals' | 'contains' | 'notContains' | 'greaterThan' | 'lessThan' | 'greaterThanOrEqual' | 'lessThanOrEqual' | 'exists' | 'notExists';
      value?: unknown;
      valueOf?: unknown;
    }>;
    cron?: string;
    timeZone?: string;
    segmentId?: string;
    filter?: Condition;
  };
  /** `reentry.mode` is not `once` */
  allowReentry: boolean;
  /** Path of the key in the data of the event */
  executionKey: string | null;
  reentry: {
    /** When a contact may enter again with the same key: never (`once`), when no execution is active (`after_end`), or always (`parallel`) */
    mode: 'once' | 'after_end' | 'parallel';
    /** Seconds after a start in which the next one is refused; null: none */
    minIntervalSeconds: number | null;
  };
  /** Increases with every change of steps, transitions, trigger or exit rules */
  version: number;
  /** Who made this version; null: not known */
  versionBy: Actor | null;
  /** Events that end an execution at any step */
  exitRules: Array<ExitRule>;
  /** The event that its mail should lead to */
  goal?: Goal;
  /** Since then, no step of its executions begins */
  pausedAt: string | null;
  /** Probable mistakes in the graph, when it is read, stored or enabled; absent: none */
  warnings?: Array<WorkflowWarning>;
  projectId: string;
  createdAt: string;
  updatedAt: string;
  _count: {
    steps: number;
    executions: number;
  };
  executionCounts: {
    /** At most 10000 are counted */
    active: number;
    /** At most 10000 are counted */
    failed: number;
  };
};

export type ExitRule = {
  eventName: string;
  /** Conditions that must all hold: on the data of the event (`event.`), on the contact (`contact.`) and on the context of the execution (`context.`) */
  where?: Array<{
    field: string;
    operator: 'equals' | 'notEquals' | 'contains' | 'notContains' | 'greaterThan' | 'lessThan' | 'greaterThanOrEqual' | 'lessThanOrEqual' | 'exists' | 'notExists';
    value?: unknown;
    valueOf?: unknown;
  }>;
  /** The exitReason of the execution */
  reason: string;
};

export type WorkflowGraphInput = {
  name?: string;
  description?: string | null;
  /** false: sets `reentry.mode` to `once`; true: sets it to `after_end` if it is `once` */
  allowReentry?: boolean;
  /** Path of the key in the data of the starting event, such as `event.orderId`: a contact may be in the workflow once for each key. null: without keys */
  executionKey?: string | null;
  /** Replaced as a whole */
  reentry?: {
    mode?: 'once' | 'after_end' | 'parallel';
    minIntervalSeconds?: number | null;
  };
  trigger?: {
    type?: 'EVENT' | 'MANUAL' | 'SCHEDULE';
    config?: {
      eventName?: string | null;
      /** Conditions that the event must meet; all must hold */
      where?: Array<{
        field: string;
        operator: 'equals' | 'notEquals' | 'contains' | 'notContains' | 'greaterThan' | 'lessThan' | 'greaterThanOrEqual' | 'lessThanOrEqual' | 'exists' | 'notExists';
        value?: unknown;
        /** Compares with this field, in place of value: event., context. or contact. */
        valueOf?: unknown;
      }>;
      cron?: string | null;
      timeZone?: string | null;
      segmentId?: string | null;
      filter?: ConditionInput | null;
    };
  };
  exitRules?: Array<{
    eventName: string;
    where?: Array<{
      field: string;
      operator: 'equals' | 'notEquals' | 'contains' | 'notContains' | 'greaterThan' | 'lessThan' | 'greaterThanOrEqual' | 'lessThanOrEqual' | 'exists' | 'notExists';
      value?: unknown;
      /** Compares with this field, in place of value: event., context. or contact. */
      valueOf?: unknown;
    }>;
    reason: string;
  }>;
  steps: Array<PortableTriggerStep | PortableSendEmailStep | PortableDelayStep | PortableWaitForEventStep | PortableDigestStep | PortableConditionStep | PortableSplitStep | PortableWebhookStep | PortableUpdateContactStep | PortableExitStep>;
  transitions: Array<{
    from: string;
    to: string;
    branch?: string | null;
  }>;
};

export type CreateWorkflowRequestTriggerConfig = {
  eventName?: string | null;
  /** Conditions that the event must meet; all must hold */
  where?: Array<{
    field: string;
    operator: 'equals' | 'notEquals' | 'contains' | 'notContains' | 'greaterThan' | 'lessThan' | 'greaterThanOrEqual' | 'lessThanOrEqual' | 'exists' | 'notExists';
    value?: unknown;
    /** Compares with this field, in place of value: event., context. or contact. */
    valueOf?: unknown;
  }>;
};

export type CreateWorkflowRequest = {
  name: string;
  description?: string | null;
  eventName?: string | null;
  /** `{eventName, where}`, instead of eventName */
  triggerConfig?: CreateWorkflowRequestTriggerConfig | null;
  triggerType?: 'EVENT' | 'MANUAL' | 'SCHEDULE';
  /** false: sets `reentry.mode` to `once`; true: sets it to `after_end` if it is `once` */
  allowReentry?: boolean;
  /** Path of the key in the data of the starting event, such as `event.orderId`: a contact may be in the workflow once for each key. null: without keys */
  executionKey?: string | null;
  /** Replaced as a whole */
  reentry?: {
    mode?: 'once' | 'after_end' | 'parallel';
    minIntervalSeconds?: number | null;
  };
  /** Used only with `graph` */
  enabled?: boolean | null;
  /** The whole workflow, as returned by GET …/graph */
  graph?: WorkflowGraphInput;
};

export type Workflow = {
  id: string;
  name: string;
  description: string | null;
  enabled: boolean;
  /** MANUAL: started only through the API */
  triggerType: 'EVENT' | 'MANUAL' | 'SCHEDULE';
  triggerConfig: {
    eventName?: string;
    /** Conditions that must all hold: on the data of the event (`event.`), on the contact (`contact.`) and on the context of the execution (`context.`) */
    where?: Array<{
      field: string;
      operator: 'equals' | 'notEquals' | 'contains' | 'notContains' | 'greaterThan' | 'lessThan' | 'greaterThanOrEqual' | 'lessThanOrEqual' | 'exists' | 'notExists';
      value?: unknown;
      valueOf?: unknown;
    }>;
    cron?: string;
    timeZone?: string;
    segmentId?: string;
    filter?: Condition;
  };
  /** `reentry.mode` is not `once` */
  allowReentry: boolean;
  /** Path of the key in the data of the event */
  executionKey: string | null;
  reentry: {
    /** When a contact may enter again with the same key: never (`once`), when no execution is active (`after_end`), or always (`parallel`) */
    mode: 'once' | 'after_end' | 'parallel';
    /** Seconds after a start in which the next one is refused; null: none */
    minIntervalSeconds: number | null;
  };
  /** Increases with every change of steps, transitions, trigger or exit rules */
  version: number;
  /** Who made this version; null: not known */
  versionBy: Actor | null;
  /** Events that end an execution at any step */
  exitRules: Array<ExitRule>;
  /** The event that its mail should lead to */
  goal?: Goal;
  /** Since then, no step of its executions begins */
  pausedAt: string | null;
  /** Probable mistakes in the graph, when it is read, stored or enabled; absent: none */
  warnings?: Array<WorkflowWarning>;
  projectId: string;
  createdAt: string;
  updatedAt: string;
};

export type WorkflowGraphStepsItemTemplate = {
  id: string;
  name: string;
};

export type WorkflowGraph = {
  id: string;
  name: string;
  description: string | null;
  enabled: boolean;
  /** MANUAL: started only through the API */
  triggerType: 'EVENT' | 'MANUAL' | 'SCHEDULE';
  triggerConfig: {
    eventName?: string;
    /** Conditions that must all hold: on the data of the event (`event.`), on the contact (`contact.`) and on the context of the execution (`context.`) */
    where?: Array<{
      field: string;
      operator: 'equals' | 'notEquals' | 'contains' | 'notContains' | 'greaterThan' | 'lessThan' | 'greaterThanOrEqual' | 'lessThanOrEqual' | 'exists' | 'notExists';
      value?: unknown;
      valueOf?: unknown;
    }>;
    cron?: string;
    timeZone?: string;
    segmentId?: string;
    filter?: Condition;
  };
  /** `reentry.mode` is not `once` */
  allowReentry: boolean;
  /** Path of the key in the data of the event */
  executionKey: string | null;
  reentry: {
    /** When a contact may enter again with the same key: never (`once`), when no execution is active (`after_end`), or always (`parallel`) */
    mode: 'once' | 'after_end' | 'parallel';
    /** Seconds after a start in which the next one is refused; null: none */
    minIntervalSeconds: number | null;
  };
  /** Increases with every change of steps, transitions, trigger or exit rules */
  version: number;
  /** Who made this version; null: not known */
  versionBy: Actor | null;
  /** Events that end an execution at any step */
  exitRules: Array<ExitRule>;
  /** The event that its mail should lead to */
  goal?: Goal;
  /** Since then, no step of its executions begins */
  pausedAt: string | null;
  /** Probable mistakes in the graph, when it is read, stored or enabled; absent: none */
  warnings?: Array<WorkflowWarning>;
  projectId: string;
  createdAt: string;
  updatedAt: string;
  steps: Array<{
    id: string;
    type: 'TRIGGER' | 'SEND_EMAIL' | 'DELAY' | 'WAIT_FOR_EVENT' | 'DIGEST' | 'CONDITION' | 'SPLIT' | 'WEBHOOK' | 'UPDATE_CONTACT' | 'EXIT';
    name: string;
    position: {
      x: number;
      y: number;
    };
    config: Record<string, unknown>;
    templateId: string | null;
    workflowId: string;
    createdAt: string;
    updatedAt: string;
    template: WorkflowGraphStepsItemTemplate | null;
    outgoingTransitions: Array<Transition>;
    incomingTransitions: Array<Transition>;
  }>;
  transitions: Array<Transition>;
};

export type TransitionCondition = {
  branch: string;
};

export type Transition = {
  id: string;
  fromStepId: string;
  toStepId: string;
  condition: TransitionCondition | null;
  branch: string | null;
  waitOutcome: 'EVENT' | 'TIMEOUT' | null;
  priority: number;
  createdAt: string;
  updatedAt: string;
};

export type PortableGraph = {
  name: string;
  description: string | null;
  /** `reentry.mode` is not `once` */
  allowReentry: boolean;
  /** Path of the key in the data of the event */
  executionKey: string | null;
  reentry: {
    /** When a contact may enter again with the same key: never (`once`), when no execution is active (`after_end`), or always (`parallel`) */
    mode: 'once' | 'after_end' | 'parallel';
    /** Seconds after a start in which the next one is refused; null: none */
    minIntervalSeconds: number | null;
  };
  trigger: {
    /** MANUAL: started only through the API */
    type: 'EVENT' | 'MANUAL' | 'SCHEDULE';
    config: {
      eventName?: string;
      /** Conditions that must all hold: on the data of the event (`event.`), on the contact (`contact.`) and on the context of the execution (`context.`) */
      where?: Array<{
        field: string;
        operator: 'equals' | 'notEquals' | 'contains' | 'notContains' | 'greaterThan' | 'lessThan' | 'greaterThanOrEqual' | 'lessThanOrEqual' | 'exists' | 'notExists';
        value?: unknown;
        valueOf?: unknown;
      }>;
      cron?: string;
      timeZone?: string;
      segmentId?: string;
      filter?: Condition;
    };
  };
  /** Events that end an execution at any step */
  exitRules: Array<ExitRule>;
  transitions: Array<{
    /** Key of a step */
    from: string;
    to: string;
    branch?: string;
  }>;
  steps: Array<{
    /** Unique in the workflow; stays when the name changes */
    key: string;
    type: 'TRIGGER' | 'SEND_EMAIL' | 'DELAY' | 'WAIT_FOR_EVENT' | 'DIGEST' | 'CONDITION' | 'SPLIT' | 'WEBHOOK' | 'UPDATE_CONTACT' | 'EXIT';
    name: string;
    config: Record<string, unknown>;
    template?: {
      id: string;
      name: string;
    };
    position: {
      x: number;
      y: number;
    };
  }>;
};

export type UpdateWorkflowRequest = {
  name?: string;
  description?: string | null;
  triggerType?: 'EVENT' | 'MANUAL' | 'SCHEDULE';
  triggerConfig?: {
    eventName?: string | null;
    /** Conditions that the event must meet; all must hold */
    where?: Array<{
      field: string;
      operator: 'equals' | 'notEquals' | 'contains' | 'notContains' | 'greaterThan' | 'lessThan' | 'greaterThanOrEqual' | 'lessThanOrEqual' | 'exists' | 'notExists';
      value?: unknown;
      /** Compares with this field, in place of value: event., context. or contact. */
      valueOf?: unknown;
    }>;
    cron?: string | null;
    timeZone?: string | null;
    segmentId?: string | null;
    filter?: ConditionInput | null;
  };
  enabled?: boolean;
  /** false: sets `reentry.mode` to `once`; true: sets it to `after_end` if it is `once` */
  allowReentry?: boolean;
  /** Path of the key in the data of the starting event, such as `event.orderId`: a contact may be in the workflow once for each key. null: without keys */
  executionKey?: string | null;
  /** Replaced as a whole */
  reentry?: {
    mode?: 'once' | 'after_end' | 'parallel';
    minIntervalSeconds?: number | null;
  };
  exitRules?: Array<{
    eventName: string;
    where?: Array<{
      field: string;
      operator: 'equals' | 'notEquals' | 'contains' | 'notContains' | 'greaterThan' | 'lessThan' | 'greaterThanOrEqual' | 'lessThanOrEqual' | 'exists' | 'notExists';
      value?: unknown;
      /** Compares with this field, in place of value: event., context. or contact. */
      valueOf?: unknown;
    }>;
    reason: string;
  }>;
  /** true: no step of its executions begins until it is false */
  paused?: boolean;
  /** The event that its mail is sent for; null removes the goal. It is no part of the version */
  goal?: GoalInput | null;
};

export type BulkUpdateWorkflowsRequest = {
  ids: Array<string>;
  delete?: boolean;
};

export type NewTriggerStep = {
  name: string;
  position?: {
    x: number;
    y: number;
  };
  templateId?: string | null;
  /** true: the newest end of the graph leads to the step */
  autoConnect?: boolean;
  type: 'TRIGGER';
  config: TriggerConfig;
};

export type NewSendEmailStep = {
  name: string;
  position?: {
    x: number;
    y: number;
  };
  templateId?: string | null;
  /** true: the newest end of the graph leads to the step */
  autoConnect?: boolean;
  type: 'SEND_EMAIL';
  config: SendEmailConfig;
};

export type NewDelayStep = {
  name: string;
  position?: {
    x: number;
    y: number;
  };
  templateId?: string | null;
  /** true: the newest end of the graph leads to the step */
  autoConnect?: boolean;
  type: 'DELAY';
  config: DelayConfig;
};

export type NewWaitForEventStep = {
  name: string;
  position?: {
    x: number;
    y: number;
  };
  templateId?: string | null;
  /** true: the newest end of the graph leads to the step */
  autoConnect?: boolean;
  type: 'WAIT_FOR_EVENT';
  config: WaitForEventConfig;
};

export type NewDigestStep = {
  name: string;
  position?: {
    x: number;
    y: number;
  };
  templateId?: string | null;
  /** true: the newest end of the graph leads to the step */
  autoConnect?: boolean;
  type: 'DIGEST';
  config: DigestConfig;
};

export type NewConditionStep = {
  name: string;
  position?: {
    x: number;
    y: number;
  };
  templateId?: string | null;
  /** true: the newest end of the graph leads to the step */
  autoConnect?: boolean;
  type: 'CONDITION';
  config: ConditionConfig;
};

export type NewSplitStep = {
  name: string;
  position?: {
    x: number;
    y: number;
  };
  templateId?: string | null;
  /** true: the newest end of the graph leads to the step */
  autoConnect?: boolean;
  type: 'SPLIT';
  config: SplitConfig;
};

export type NewWebhookStep = {
  name: string;
  position?: {
    x: number;
    y: number;
  };
  templateId?: string | null;
  /** true: the newest end of the graph leads to the step */
  autoConnect?: boolean;
  type: 'WEBHOOK';
  config: WebhookConfig;
};

export type NewUpdateContactStep = {
  name: string;
  position?: {
    x: number;
    y: number;
  };
  templateId?: string | null;
  /** true: the newest end of the graph leads to the step */
  autoConnect?: boolean;
  type: 'UPDATE_CONTACT';
  config: UpdateContactConfig;
};

export type NewExitStep = {
  name: string;
  position?: {
    x: number;
    y: number;
  };
  templateId?: string | null;
  /** true: the newest end of the graph leads to the step */
  autoConnect?: boolean;
  type: 'EXIT';
  config: ExitConfig;
};

export type CreateStepRequest = NewTriggerStep | NewSendEmailStep | NewDelayStep | NewWaitForEventStep | NewDigestStep | NewConditionStep | NewSplitStep | NewWebhookStep | NewUpdateContactStep | NewExitStep;

export type Step = {
  id: string;
  type: 'TRIGGER' | 'SEND_EMAIL' | 'DELAY' | 'WAIT_FOR_EVENT' | 'DIGEST' | 'CONDITION' | 'SPLIT' | 'WEBHOOK' | 'UPDATE_CONTACT' | 'EXIT';
  name: string;
  position: {
    x: number;
    y: number;
  };
  config: Record<string, unknown>;
  templateId: string | null;
  workflowId: string;
  createdAt: string;
  updatedAt: string;
};

export type UpdateStepRequest = {
  name?: string;
  position?: {
    x: number;
    y: number;
  };
  /** The whole new config, which depends on the type of the step */
  config?: Record<string, unknown>;
  templateId?: string | null;
};

export type InsertedSendEmailStep = {
  name: string;
  position?: {
    x: number;
    y: number;
  };
  templateId?: string | null;
  type: 'SEND_EMAIL';
  config: SendEmailConfig;
};

export type InsertedDelayStep = {
  name: string;
  position?: {
    x: number;
    y: number;
  };
  templateId?: string | null;
  type: 'DELAY';
  config: DelayConfig;
};

export type InsertedWaitForEventStep = {
  name: string;
  position?: {
    x: number;
    y: number;
  };
  templateId?: string | null;
  type: 'WAIT_FOR_EVENT';
  config: WaitForEventConfig;
};

export type InsertedDigestStep = {
  name: string;
  position?: {
    x: number;
    y: number;
  };
  templateId?: string | null;
  type: 'DIGEST';
  config: DigestConfig;
};

export type InsertedConditionStep = {
  name: string;
  position?: {
    x: number;
    y: number;
  };
  templateId?: string | null;
  type: 'CONDITION';
  config: ConditionConfig;
};

export type InsertedSplitStep = {
  name: string;
  position?: {
    x: number;
    y: number;
  };
  templateId?: string | null;
  type: 'SPLIT';
  config: SplitConfig;
};

export type InsertedWebhookStep = {
  name: string;
  position?: {
    x: number;
    y: number;
  };
  templateId?: string | null;
  type: 'WEBHOOK';
  config: WebhookConfig;
};

export type InsertedUpdateContactStep = {
  name: string;
  position?: {
    x: number;
    y: number;
  };
  templateId?: string | null;
  type: 'UPDATE_CONTACT';
  config: UpdateContactConfig;
};

export type InsertStepRequest = InsertedSendEmailStep | InsertedDelayStep | InsertedWaitForEventStep | InsertedDigestStep | InsertedConditionStep | InsertedSplitStep | InsertedWebhookStep | InsertedUpdateContactStep;

export type CreateTransitionRequest = {
  fromStepId: string;
  toStepId: string;
  /** `{branch}`; `{fallback: true}` after WAIT_FOR_EVENT is its time-out */
  condition?: TransitionConditionInput | null;
  /** The same as condition.branch */
  branch?: string | null;
  waitOutcome?: 'EVENT' | 'TIMEOUT' | null;
  priority?: number;
};

export type WorkflowVersionList = {
  data: Array<WorkflowVersion>;
  cursor?: string;
  hasMore: boolean;
  /** All matches, on the first page; 0 on later ones */
  total: number;
};

export type WorkflowVersion = {
  version: number;
  /** When it was made */
  at: string;
  /** Who made it; null: not known */
  causedBy: Actor | null;
  /** Against the version before, at most 100; values of headers are masked */
  changes: Array<VersionChange>;
  /** The version that it restored */
  restoredFrom: number | null;
  /** Active executions that are on this version now */
  active: number;
  /** True for the version that is being edited */
  current: boolean;
};

export type VersionChange = {
  kind: 'created' | 'restored' | 'trigger' | 'exit_rules' | 'step_added' | 'step_removed' | 'step_changed' | 'transition_added' | 'transition_removed';
  /** The changed step; for a transition, the step at which it begins */
  stepId: string | null;
  name: string | null;
  /** The change in words */
  text: string;
};

export type WorkflowVersionGraph = {
  version: number;
  /** When it was made */
  at: string;
  /** Who made it; null: not known */
  causedBy: Actor | null;
  /** Against the version before, at most 100; values of headers are masked */
  changes: Array<VersionChange>;
  /** The version that it restored */
  restoredFrom: number | null;
  /** Active executions that are on this version now */
  active: number;
  /** True for the version that is being edited */
  current: boolean;
  graph: VersionGraph;
};

export type VersionGraph = {
  trigger: {
    /** MANUAL: started only through the API */
    type: 'EVENT' | 'MANUAL' | 'SCHEDULE';
    config: {
      eventName?: string;
      /** Conditions that must all hold: on the data of the event (`event.`), on the contact (`contact.`) and on the context of the execution (`context.`) */
      where?: Array<{
        field: string;
        operator: 'equals' | 'notEquals' | 'contains' | 'notContains' | 'greaterThan' | 'lessThan' | 'greaterThanOrEqual' | 'lessThanOrEqual' | 'exists' | 'notExists';
        value?: unknown;
        valueOf?: unknown;
      }>;
      cron?: string;
      timeZone?: string;
      segmentId?: string;
      filter?: Condition;
    };
  };
  /** Events that end an execution at any step */
  exitRules: Array<ExitRule>;
  transitions: Array<{
    /** Key of a step */
    from: string;
    to: string;
    branch?: string;
  }>;
  steps: Array<{
    /** Unique in the workflow; stays when the name changes */
    key: string;
    type: 'TRIGGER' | 'SEND_EMAIL' | 'DELAY' | 'WAIT_FOR_EVENT' | 'DIGEST' | 'CONDITION' | 'SPLIT' | 'WEBHOOK' | 'UPDATE_CONTACT' | 'EXIT';
    name: string;
    config: Record<string, unknown>;
    /** `name` is null when the template was deleted */
    template?: {
      id: string;
      name: string | null;
    };
    position: {
      x: number;
      y: number;
    };
    id: string;
  }>;
};
